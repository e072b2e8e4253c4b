/* Exact Shapley values of sums of trees against weighted reference rows.
 *
 * A mixture of a row x and a reference row z takes some players (features) from x, the others from z. It reaches a node
 * where every player on the path satisfies its splits, in x or in z, whichever it is taken from. With
 *     A = players that x satisfies and z does not,  B = players that z satisfies and x does not,  a = |A|, b = |B|,
 * and no player that both fail, the Shapley values of "the node is reached" are
 *     (a-1)! b! / (a+b)!  for players of A,    - a! (b-1)! / (a+b)!  for players of B,    0 for others.
 *
 * A tree is a constant plus terms, coefficients times "this node is reached", at as few nodes as possible: Fitch's
 * parsimony (Syst. Zool. 20, 1971) on the values of the leaves. A term knows the distinct patterns of players that
 * reference rows satisfy, and the weight of each; with few players, the values for all patterns that x may have.
 * Rows x that satisfy the same players go down together: a split divides them, and both parts go to both children.
 * The interactions of two players (Grabisch and Roubens, Int. J. Game Theory 28, 1999) are in the same way
 *     (a-2)! b! / (a+b-1)! of two of A,    - (a-1)! (b-1)! / (a+b-1)! of one of each,    a! (b-2)! / (a+b-1)! of two of B.
 *
 * What a tree needs is kept while there is room, and else made again at every call.
 */
#include "terms.h"

typedef struct {
    const Exact *exact; const Tree *tree; int64_t slot;
    const double *cells; int64_t n_rows; /* (columns, rows) */
    int32_t *group, *hits;
    int16_t *place; int32_t players[MOST]; int n_players;
    double *out; /* (rows, players, sums), or (rows, players, players, sums) if there is a square */
    double *square;
} Walk;

static void add(const Walk *k, const double *values, const double *coefficients, int64_t first, int64_t last) {
    const Source *s = &k->exact->source; const int64_t n_sums = s->n_sums, n_values = s->n_values;
    if (n_values == 1 && n_sums == 1) {
        const double coefficient = *coefficients;
        for (int64_t g = first; g < last; g++) {
            double *to = k->out + k->group[g] * s->n_players;
            for (int j = 0; j < k->n_players; j++) to[k->players[j]] += coefficient * values[j];
        }
        return;
    }
    for (int64_t g = first; g < last; g++) {
        double *to = k->out + k->group[g] * s->n_players * n_sums + k->slot;
        for (int j = 0; j < k->n_players; j++)
            for (int64_t o = 0; o < n_values; o++) to[k->players[j] * n_sums + o] += coefficients[o] * values[j];
    }
}

/* Interactions of the players of a term, by its patterns, as `evaluate` finds values; how many patterns count. */
static int interact(const Walk *k, const uint32_t *patterns, const double *shares, const int32_t *ends, uint64_t own) {
    const Exact *e = k->exact; const int n = k->n_players, n_words = n > 32 ? 2 : 1;
    const uint64_t failed = ~own & (~UINT64_C(0) >> (64 - n)); const int b = COUNT(failed);
    double *square = k->square, lost = 0;
    int found = 0;
    memset(square, 0, (size_t)(n * n) * sizeof *square);
    for (int32_t i = 0; i < ends[PARTS - 1]; i++) {
        const uint64_t pattern = pattern_at(patterns, i, n_words), gained = own & ~pattern;
        if ((pattern & failed) != failed) continue;
        const int a = COUNT(gained);
        const double both = a > 1 ? shares[i] * e->up[b][a - 1] : 0, mixed = b ? shares[i] * e->up[b - 1][a] : 0;
        found++;
        if (b > 1) lost += shares[i] * e->up[b - 2][a + 1];
        for (uint64_t rest = gained; rest; rest &= rest - 1) {
            double *line = square + LOWEST(rest) * n;
            for (uint64_t more = rest & (rest - 1); more; more &= more - 1) line[LOWEST(more)] += both;
            for (uint64_t more = failed; more; more &= more - 1) line[LOWEST(more)] -= mixed;
        }
    }
    for (uint64_t rest = failed; rest; rest &= rest - 1)
        for (uint64_t more = rest & (rest - 1); more; more &= more - 1) square[LOWEST(rest) * n + LOWEST(more)] += lost;
    return found;
}

static void add_pairs(const Walk *k, const double *coefficients, int64_t first, int64_t last) {
    const Source *s = &k->exact->source; const int64_t d = s->n_players, n_sums = s->n_sums; const int n = k->n_players;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        const double value = k->square[i * n + j]; const int64_t p = k->players[i], q = k->players[j];
        if (value == 0) continue;
        for (int64_t g = first; g < last; g++) {
            double *to = k->out + k->group[g] * d * d * n_sums + k->slot;
            for (int64_t o = 0; o < s->n_values; o++) {
                to[(p * d + q) * n_sums + o] += coefficients[o] * value;
                to[(q * d + p) * n_sums + o] += coefficients[o] * value;
            }
        }
    }
}

/* Bring those of a group that go left to the front; where the others begin. */
static int64_t divide(const Walk *k, const Node *node, int64_t first, int64_t last) {
    const double *cells = k->cells + node->column * k->n_rows; int32_t *group = k->group;
    while (first < last) {
        const double cell = cells[group[first]];
        if (cell != cell ? node->missing_left : cell <= node->threshold) { first++; continue; }
        const int32_t other = group[--last];
        group[last] = group[first]; group[first] = other;
    }
    return first;
}

/* Rows that satisfy the players in `own` so far, of those on the path. */
static void walk(Walk *k, int32_t at, uint64_t own, int64_t first, int64_t last) {
    const Tree *t = k->tree; const Node *node = t->nodes + at;
    if (node->term >= 0) {
        const Term *term = t->terms + node->term; const int n = k->n_players;
        const double *coefficients = t->coefficients + node->term * k->exact->source.n_values;
        double values[MOST];
        if (k->square) {
            if (interact(k, t->patterns + term->first, t->shares + term->share, term->ends, own))
                add_pairs(k, coefficients, first, last);
            else return;
        } else if (n <= TABLE) add(k, t->tables + term->first + (int64_t)own * n, coefficients, first, last);
        else if (evaluate(k->exact, t->patterns + term->first, t->shares + term->share, term->ends, n, own,
                          k->hits, values)) add(k, values, coefficients, first, last);
        else return; /* no reference row holds what these rows fail, here or below */
    }
    if (!node->wanted) return;
    const int fresh = k->place[node->player] < 0, place = fresh ? k->n_players : k->place[node->player];
    const uint64_t bit = UINT64_C(1) << place;
    const int32_t children[] = {at + 1, node->right};
    if (!fresh && !(own & bit)) { /* failed above: both ways are the reference row's */
        for (int c = 0; c < 2; c++)
            if (t->nodes[children[c]].term >= 0 || t->nodes[children[c]].wanted) walk(k, children[c], own, first, last);
        return;
    }
    const int64_t middle = divide(k, node, first, last), ends[] = {first, middle, last};
    if (fresh) { k->players[k->n_players++] = node->player; k->place[node->player] = (int16_t)place; }
    for (int c = 0; c < 2; c++) {
        if (t->nodes[children[c]].term < 0 && !t->nodes[children[c]].wanted) continue;
        if (ends[c] < ends[c + 1]) walk(k, children[c], own | bit, ends[c], ends[c + 1]);
        if (ends[1 - c] < ends[2 - c]) walk(k, children[c], own & ~bit, ends[1 - c], ends[2 - c]);
    }
    if (fresh) { k->n_players--; k->place[node->player] = -1; }
}

void xcid_exact_free(Exact *e) {
    if (!e) return;
    for (int64_t i = 0; e->trees && i < e->source.n_trees; i++) empty(e->trees + i);
    free(e->trees); free(e);
}

/* Prepare trees, whose arrays stay in use; base (n_sums) begins with zeros. NULL: see status. */
Exact *xcid_exact_new(const Source *source, double *base, int64_t *status) {
    Exact *e = calloc(1, sizeof *e);
    Making m;
    int64_t used = 0;
    *status = NO_MEMORY;
    if (!e) return NULL;
    e->source = *source;
    for (int b = 0; b < MOST; b++) {
        e->up[b][1] = 1.0 / (b + 1);
        for (int a = 2; a < MOST; a++) e->up[b][a] = e->up[b][a - 1] * (a - 1) / (a + b);
    }
    for (int b = 0; b < MOST; b++) for (int a = 0; a < MOST; a++) e->down[b][a] = e->up[a][b]; /* they change places */
    e->trees = calloc((size_t)source->n_trees + 1, sizeof *e->trees);
    start(&m, e, base);
    if (!e->trees) m.status = NO_MEMORY;
    for (int64_t i = 0; i < source->n_trees && !m.status; i++) {
        make(&m, i, e->trees + i);
        used += bytes(e->trees + i);
        if (used > source->most_bytes) { used -= bytes(e->trees + i); empty(e->trees + i); }
    }
    *status = m.status;
    finish(&m);
    if (*status) { xcid_exact_free(e); return NULL; }
    return e;
}

static int64_t explain(const Exact *e, const double *cells, int64_t n, double *out, double *square) {
    const Source *s = &e->source;
    Walk k = {.exact = e, .cells = cells, .n_rows = n, .out = out, .square = square};
    Making m = {0};
    Tree other = {0};
    int64_t status = FINE;
    int made = 0;
    k.group = malloc((size_t)(n + 1) * sizeof *k.group); k.hits = malloc((size_t)(s->n_rows + 1) * sizeof *k.hits);
    k.place = malloc((size_t)(s->n_players + 1) * sizeof *k.place);
    if (!k.group || !k.hits || !k.place) status = NO_MEMORY;
    else memset(k.place, 255, (size_t)(s->n_players + 1) * sizeof *k.place);
    for (int64_t i = 0; i < n && !status; i++) k.group[i] = (int32_t)i;
    for (int64_t i = 0; i < s->n_trees && n && !status; i++) {
        k.tree = e->trees + i; k.slot = s->slot[i];
        if (!k.tree->nodes || square) { /* there was no room to keep it, or tables lack what pairs need */
            if (!made++) start(&m, e, NULL);
            if (square) m.table = 0;
            if (!m.status) make(&m, i, &other);
            status = m.status; k.tree = &other;
        }
        if (!status && k.tree->nodes[0].wanted) walk(&k, 0, 0, 0, n);
        empty(&other);
    }
    if (made) finish(&m);
    free(k.group); free(k.hits); free(k.place);
    return status;
}

/* Add to (n, players, sums) values of rows, whose (columns, n) cells are given; 0, or what went wrong. */
int64_t xcid_exact_values(const Exact *e, const double *cells, int64_t n, double *out) {
    return explain(e, cells, n, out, NULL);
}

/* The same for the (n, players, players, sums) interactions of pairs. */
int64_t xcid_exact_pairs(const Exact *e, const double *cells, int64_t n, double *out) {
    double square[MOST * MOST];
    return explain(e, cells, n, out, square);
}
