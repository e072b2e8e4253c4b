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
 *
 * What a tree needs is kept while there is room, and else made again at every call.
 */
#include "terms.h"

typedef struct {
    const Exact *exact; const Tree *tree; int64_t slot;
    const double *cells; int64_t n_rows; /* (columns, rows) */
    int32_t *group, *hits;
    int16_t *place; int32_t players[MOST]; int n_players;
    double *out; /* (rows, players, sums) */
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
        if (n <= TABLE) add(k, t->tables + term->first + (int64_t)own * n, coefficients, first, last);
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

/* Add to (n, players, sums) values of rows, whose (columns, n) cells are given; 0, or what went wrong. */
int64_t xcid_exact_values(const Exact *e, const double *cells, int64_t n, double *out) {
    const Source *s = &e->source;
    Walk k = {.exact = e, .cells = cells, .n_rows = n, .out = out};
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
        if (!k.tree->nodes) { /* there was no room to keep it */
            if (!made++) start(&m, e, NULL);
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
