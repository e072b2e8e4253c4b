/* Trees as terms, and what reference rows make of them: see exact.c. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64 /* levels of a tree, so that the players of a path fit into a word */
#define PARTS 8 /* of the patterns of a term, by their lowest bits: those without what x fails are passed over */
#define TABLE 6 /* players whose patterns all have their values listed */
#define REMEMBERED 4 /* values that a node could have at no further cost: more would only save terms */
#define COUNT(word) __builtin_popcountll(word)
#define LOWEST(word) __builtin_ctzll(word)

#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 /* chosen when it is loaded */
#define FAST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FAST
#endif
#define INLINE static inline __attribute__((always_inline))
typedef double Numbers __attribute__((vector_size(64)));
typedef int64_t Words __attribute__((vector_size(64)));

enum { FINE, NO_MEMORY, DAMAGED };

typedef struct {
    const int64_t *feature, *left, *right; /* of nodes; a leaf is its own child */
    const double *threshold, *value;       /* value: (nodes, n_values) */
    const uint8_t *missing_left;
    const int64_t *roots, *slot;           /* of trees: values go to sums from this one on */
    const int64_t *player;                 /* of columns */
    const double *cells, *weights;         /* reference rows, (columns, rows), and their shares */
    int64_t n_nodes, n_values, n_trees, n_sums, n_columns, n_players, n_rows, most_bytes;
} Source;

/* The left child is the next node; wanted: terms are below. */
typedef struct { int32_t column, player, right, term, missing_left, wanted; double threshold; } Node;
typedef struct { int64_t first, share; int32_t ends[PARTS]; } Term; /* its table, or its first pattern and share */

typedef struct {
    Node *nodes; Term *terms; double *coefficients, *tables, *shares; uint32_t *patterns;
    int64_t n_nodes, n_terms, n_tables, n_shares, n_patterns;
    int64_t room_nodes, room_terms, room_coefficients, room_tables, room_shares, room_patterns;
} Tree;

typedef struct {
    Source source; Tree *trees;
    double up[MOST][MOST], down[MOST][MOST]; /* by b and a: what players of A gain, and those of B lose */
} Exact;

/* Room for `more` elements behind `n` of an array. */
static int grow(void *array, int64_t *room, int64_t n, int64_t more, size_t size) {
    void *old, *moved;
    const int64_t wanted = n + more + n / 2 + 16;
    if (n + more <= *room) return 1;
    memcpy(&old, array, sizeof old);
    if (!(moved = realloc(old, (size_t)wanted * size))) return 0;
    memcpy(array, &moved, sizeof moved);
    *room = wanted;
    return 1;
}

static void empty(Tree *t) {
    free(t->nodes); free(t->terms); free(t->coefficients); free(t->tables); free(t->shares); free(t->patterns);
    memset(t, 0, sizeof *t);
}

static int64_t bytes(const Tree *t) {
    return t->room_nodes * (int64_t)sizeof(Node) + t->room_terms * (int64_t)sizeof(Term)
        + 8 * (t->room_coefficients + t->room_tables + t->room_shares) + 4 * t->room_patterns;
}

typedef struct { int32_t n; int64_t leaf[REMEMBERED]; } Set; /* leaves whose values a node could have */
typedef struct {
    const Exact *exact; const Source *s; Tree *t; double *base; /* (n_sums) or NULL */
    Set *sets; int64_t room_sets, slot;
    int16_t *place;            /* of players on the path; -1: not on it */
    uint64_t *levels[MOST + 1]; /* patterns of reference rows at the node of each level */
    uint64_t *keys; double *weights; int32_t *stamps, stamp; int64_t size; /* a hash table of patterns */
    uint32_t *patterns; double *shares; int32_t *hits; /* of one term */
    int status, table; /* players whose values are listed */
} Making;

static int alike(const Source *s, int64_t one, int64_t other) {
    for (int64_t o = 0; o < s->n_values; o++)
        if (s->value[one * s->n_values + o] != s->value[other * s->n_values + o]) return 0;
    return 1;
}

/* Copy the nodes below `from`, a parent before its children; give the place of the first. */
static int32_t copy(Making *m, int64_t from, int level) {
    const Source *s = m->s; Tree *t = m->t; const int64_t at = t->n_nodes++;
    if (from < 0 || from >= s->n_nodes || level >= MOST || at >= s->n_nodes) { m->status = DAMAGED; return 0; }
    if (!grow(&t->nodes, &t->room_nodes, at, 1, sizeof(Node)) || !grow(&m->sets, &m->room_sets, at, 1, sizeof(Set))) {
        m->status = NO_MEMORY; return 0;
    }
    t->nodes[at] = (Node){.column = -1, .player = -1, .right = -1, .term = -1};
    m->sets[at] = (Set){.n = 1, .leaf = {from}};
    if (s->left[from] == from) return (int32_t)at;
    const int64_t column = s->feature[from];
    if (column < 0 || column >= s->n_columns || s->player[column] < 0 || s->player[column] >= s->n_players) {
        m->status = DAMAGED; return 0;
    }
    const int32_t left = copy(m, s->left[from], level + 1), right = m->status ? 0 : copy(m, s->right[from], level + 1);
    if (m->status) return 0;
    t->nodes[at] = (Node){.column = (int32_t)column, .player = (int32_t)s->player[column], .right = right, .term = -1,
                          .missing_left = s->missing_left[from], .threshold = s->threshold[from]};
    const Set one = m->sets[left], other = m->sets[right]; Set *to = m->sets + at;
    to->n = 0;
    for (int i = 0; i < one.n; i++) for (int j = 0; j < other.n; j++)
        if (alike(s, one.leaf[i], other.leaf[j])) { to->leaf[to->n++] = one.leaf[i]; break; }
    if (to->n) return (int32_t)at;
    for (int i = 0; i < REMEMBERED; i++) { /* of both in turn */
        if (i < one.n && to->n < REMEMBERED) to->leaf[to->n++] = one.leaf[i];
        if (i < other.n && to->n < REMEMBERED) to->leaf[to->n++] = other.leaf[i];
    }
    return (int32_t)at;
}

/* Put terms where values change on the way down; whether there are any here or below. */
static int choose(Making *m, int32_t at, int64_t above) {
    const Source *s = m->s; Tree *t = m->t; const Set *own = m->sets + at; int64_t leaf = own->leaf[0]; int found = 0;
    for (int i = 0; i < own->n; i++) if (alike(s, own->leaf[i], above)) leaf = above;
    if (leaf != above) {
        if (!grow(&t->terms, &t->room_terms, t->n_terms, 1, sizeof(Term))
            || !grow(&t->coefficients, &t->room_coefficients, t->n_terms * s->n_values, s->n_values, sizeof(double))) {
            m->status = NO_MEMORY; return 0;
        }
        double *to = t->coefficients + t->n_terms * s->n_values;
        for (int64_t o = 0; o < s->n_values; o++)
            to[o] = s->value[leaf * s->n_values + o] - s->value[above * s->n_values + o];
        t->nodes[at].term = (int32_t)t->n_terms++; found = 1;
    }
    if (t->nodes[at].column >= 0 && !m->status) {
        int below = choose(m, at + 1, leaf);
        if (!m->status) below |= choose(m, t->nodes[at].right, leaf);
        t->nodes[at].wanted = below; found |= below;
    }
    return found;
}

/* Patterns of up to 32 players are one word, others two. */
INLINE uint64_t pattern_at(const uint32_t *patterns, int64_t at, const int n_words) {
    return n_words == 1 ? patterns[at] : patterns[2 * at] | (uint64_t)patterns[2 * at + 1] << 32;
}

/* The values of a term with at most 8 times `width` players, without a branch for any of them. */
INLINE int gather(const Exact *e, const uint32_t *patterns, const double *shares, const int32_t *ends, int n_players,
                  uint64_t own, int32_t *hits, double *values, const int width) {
    static const Words bits = {1, 2, 4, 8, 16, 32, 64, 128};
    const int n_words = width <= 4 ? 1 : 2;
    const uint64_t failed = ~own & (~UINT64_C(0) >> (64 - n_players));
    const double *up = e->up[COUNT(failed)], *down = e->down[COUNT(failed)];
    Numbers sums[8];
    double lost = 0;
    int n = 0;
    for (int part = 0, i = 0; part < PARTS; i = ends[part++]) {
        if (~part & (PARTS - 1) & failed) continue;
        for (; i < ends[part]; i++) { hits[n] = i; n += (pattern_at(patterns, i, n_words) & failed) == failed; }
    }
    for (int w = 0; w < width; w++) sums[w] = (Numbers){0};
    for (int i = 0; i < n; i++) {
        const uint64_t pattern = pattern_at(patterns, hits[i], n_words);
        const int a = n_players - COUNT(pattern); /* since it holds all that x fails */
        const Numbers each = shares[hits[i]] * up[a] + (Numbers){0};
        lost += shares[hits[i]] * down[a];
        for (int w = 0; w < width; w++) {
            const Words lacks = (((int64_t)(pattern >> 8 * w) + (Words){0}) & bits) == 0;
            sums[w] += (Numbers)(lacks & (Words)each);
        }
    }
    memcpy(values, sums, (size_t)width * sizeof(Numbers));
    for (uint64_t rest = failed; rest; rest &= rest - 1) values[LOWEST(rest)] = -lost;
    return n;
}

/* The values of a term for rows that satisfy the players in `own`; how many patterns count: those that hold others. */
FAST static int evaluate(const Exact *e, const uint32_t *patterns, const double *shares, const int32_t *ends,
                         int n_players, uint64_t own, int32_t *hits, double *values) {
    if (n_players <= 8) return gather(e, patterns, shares, ends, n_players, own, hits, values, 1);
    if (n_players <= 16) return gather(e, patterns, shares, ends, n_players, own, hits, values, 2);
    if (n_players <= 32) return gather(e, patterns, shares, ends, n_players, own, hits, values, 4);
    return gather(e, patterns, shares, ends, n_players, own, hits, values, 8);
}

/* The distinct patterns of the reference rows, part by part, and the weight of each; how many there are. */
static int distinct(Making *m, const uint64_t *rows, int n_words, int32_t *ends) {
    const uint64_t last = (uint64_t)m->size - 1;
    int32_t n = 0, starts[PARTS] = {0};
    m->stamp++;
    for (int64_t i = 0; i < m->s->n_rows; i++) {
        const uint64_t key = rows[i];
        uint64_t h = (key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & last;
        while (m->stamps[h] == m->stamp && m->keys[h] != key) h = (h + 1) & last;
        if (m->stamps[h] != m->stamp) {
            m->stamps[h] = m->stamp; m->keys[h] = key; m->weights[h] = 0; m->hits[n++] = (int32_t)h;
            starts[key & (PARTS - 1)]++;
        }
        m->weights[h] += m->s->weights[i];
    }
    for (int32_t part = 0, end = 0; part < PARTS; part++) {
        ends[part] = end += starts[part];
        starts[part] = end - starts[part];
    }
    for (int32_t i = 0; i < n; i++) {
        const uint64_t key = m->keys[m->hits[i]];
        const int32_t to = starts[key & (PARTS - 1)]++;
        m->shares[to] = m->weights[m->hits[i]];
        m->patterns[n_words * to] = (uint32_t)key;
        if (n_words == 2) m->patterns[2 * to + 1] = (uint32_t)(key >> 32);
    }
    return n;
}

/* Keep the patterns of a term, or its table. */
static void keep(Making *m, int32_t at, const uint64_t *rows, int n_players) {
    Tree *t = m->t; Term *term = t->terms + t->nodes[at].term;
    const int n_words = n_players > 32 ? 2 : 1, n = distinct(m, rows, n_words, term->ends);
    const uint64_t full = ~UINT64_C(0) >> (64 - n_players);
    const double *coefficient = t->coefficients + t->nodes[at].term * m->s->n_values;
    if (m->base) for (int i = 0; i < n; i++) if (pattern_at(m->patterns, i, n_words) == full)
        for (int64_t o = 0; o < m->s->n_values; o++) m->base[m->slot + o] += coefficient[o] * m->shares[i];
    if (n_players <= m->table) {
        const int64_t size = (int64_t)n_players << n_players;
        if (!grow(&t->tables, &t->room_tables, t->n_tables, size, sizeof(double))) { m->status = NO_MEMORY; return; }
        term->first = t->n_tables; t->n_tables += size;
        for (uint64_t own = 0; own <= full; own++) {
            double values[MOST];
            evaluate(m->exact, m->patterns, m->shares, term->ends, n_players, own, m->hits, values);
            memcpy(t->tables + term->first + (int64_t)own * n_players, values, (size_t)n_players * sizeof(double));
        }
        return;
    }
    if (!grow(&t->patterns, &t->room_patterns, t->n_patterns, n_words * n, sizeof *t->patterns)
        || !grow(&t->shares, &t->room_shares, t->n_shares, n, sizeof *t->shares)) { m->status = NO_MEMORY; return; }
    term->first = t->n_patterns; term->share = t->n_shares;
    memcpy(t->patterns + t->n_patterns, m->patterns, (size_t)(n_words * n) * sizeof *t->patterns);
    memcpy(t->shares + t->n_shares, m->shares, (size_t)n * sizeof *t->shares);
    t->n_patterns += n_words * n; t->n_shares += n;
}

/* Patterns of a child from those of its parent: rows that go there satisfy the player, if they did so far. */
FAST static void step(const double *cells, double threshold, uint64_t missing, uint64_t right, uint64_t bit,
                      uint64_t fresh, const uint64_t *from, uint64_t *to, int64_t n) {
    const uint64_t others = ~bit, known = fresh ? bit : 0;
    for (int64_t i = 0; i < n; i++) {
        const double cell = cells[i];
        const uint64_t goes = (cell != cell ? missing : (uint64_t)(cell <= threshold)) ^ right;
        to[i] = (from[i] | known) & (others | (goes ? bit : 0));
    }
}

static void fill(Making *m, int32_t at, int level, int n_players) {
    const Node *node = m->t->nodes + at; const int64_t n = m->s->n_rows;
    if (node->term >= 0) keep(m, at, m->levels[level], n_players);
    if (node->column < 0 || !node->wanted || m->status) return;
    if (!m->levels[level + 1]) m->levels[level + 1] = malloc((size_t)n * sizeof(uint64_t));
    if (!m->levels[level + 1]) { m->status = NO_MEMORY; return; }
    const int fresh = m->place[node->player] < 0, place = fresh ? n_players : m->place[node->player];
    m->place[node->player] = (int16_t)place;
    for (int right = 0; right < 2 && !m->status; right++) {
        const int32_t child = right ? node->right : at + 1;
        if (m->t->nodes[child].term < 0 && !m->t->nodes[child].wanted) continue;
        step(m->s->cells + node->column * n, node->threshold, (uint64_t)node->missing_left, (uint64_t)right,
             UINT64_C(1) << place, (uint64_t)fresh, m->levels[level], m->levels[level + 1], n);
        fill(m, child, level + 1, n_players + fresh);
    }
    if (fresh) m->place[node->player] = -1;
}

static void make(Making *m, int64_t number, Tree *t) {
    const Source *s = m->s;
    m->t = t; m->slot = s->slot[number];
    if (m->slot < 0 || m->slot + s->n_values > s->n_sums) { m->status = DAMAGED; return; }
    copy(m, s->roots[number], 0);
    if (m->status) return;
    const int64_t leaf = m->sets[0].leaf[0];
    t->nodes[0].wanted = choose(m, 0, leaf);
    if (m->base) for (int64_t o = 0; o < s->n_values; o++) m->base[m->slot + o] += s->value[leaf * s->n_values + o];
    if (!m->status) fill(m, 0, 0, 0);
}

static void finish(Making *m) {
    for (int level = 0; level <= MOST; level++) free(m->levels[level]);
    free(m->sets); free(m->place); free(m->keys); free(m->weights); free(m->stamps); free(m->patterns);
    free(m->shares); free(m->hits);
}

static void start(Making *m, const Exact *e, double *base) {
    const Source *s = &e->source; const size_t n = (size_t)s->n_rows + 1;
    *m = (Making){.exact = e, .s = s, .base = base, .size = 16, .table = TABLE};
    while (m->size < 2 * s->n_rows) m->size *= 2;
    m->place = malloc((size_t)(s->n_players + 1) * sizeof *m->place);
    m->levels[0] = calloc(n, sizeof(uint64_t));
    m->keys = malloc((size_t)m->size * sizeof *m->keys); m->weights = malloc((size_t)m->size * sizeof *m->weights);
    m->stamps = calloc((size_t)m->size, sizeof *m->stamps); m->patterns = malloc(2 * n * sizeof *m->patterns);
    m->shares = malloc(n * sizeof *m->shares); m->hits = malloc(n * sizeof *m->hits);
    if (!m->place || !m->levels[0] || !m->keys || !m->weights || !m->stamps || !m->patterns || !m->shares || !m->hits)
        m->status = NO_MEMORY;
    else memset(m->place, 255, (size_t)s->n_players * sizeof *m->place);
}
