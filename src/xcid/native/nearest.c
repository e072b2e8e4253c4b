/* The cheapest cells at which sums of trees exceed what is needed, or the proof that there are none.
 *
 * Every feature has cells: stretches of its values between thresholds (1, 2, ... in their order; 0 is a present value
 * that has no place in that order, such as a missing one), or at most 64 kinds of levels, one bit each. Each cell has a
 * cost, and 0 is that of the row's own. A box is a stretch, or a set of levels, of every feature.
 *
 * A list holds the leaves of one tree, with what they add to one condition, largest first. In a box a sum cannot exceed
 * the first leaf of every list that meets the box and that can be paid for: the cheapest cells of leaf and box must cost
 * less than the best answer so far. A part of a box goes on in every list where the whole stopped.
 *
 * Boxes are opened by their least cost. The first whose cheapest cells satisfy every condition is therefore the answer,
 * and the least cost of all open boxes is a limit below which there is none. As long as no answer is known, boxes are
 * opened by their bound instead; when none is left, there is no answer.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STOPPED, PROVED, NONE };
enum { MOST_CONDITIONS = 64, DEEPEST = 2000 };

typedef struct {
    const int32_t *feature, *left, *right, *cut; /* cut: the last cell that goes left */
    const uint64_t *mask;                        /* levels that go left */
    const double *value;                         /* (conditions, nodes) */
    const int64_t *root; const int32_t *list_tree, *list_condition; /* lists by trees */
    const uint8_t *is_set; const int64_t *start; /* where the costs of a feature begin */
    int64_t n_features, n_trees, n_nodes, n_lists, n_conditions;
} Problem;

typedef struct {
    const int32_t *own; const double *cost; const uint8_t *own_left; /* (nodes), for present values without a place */
    const double *need;
    double incumbent, tolerance, most_work, seconds, most_bytes;
} Query;

typedef struct { int32_t *cells; double cost, lower, work, nodes; } Answer;

typedef struct { int32_t feature, lo, hi; uint64_t set; } Limit;
typedef struct { double value, cost; int64_t at; int32_t n; } Leaf;
typedef struct { Leaf *leaf; int64_t n, room; } List;
typedef struct { int32_t key, cut; double gain, share; } Vote;
typedef struct { double key; int64_t box; } Item;

typedef struct {
    const Problem *m; const Query *q; const double *cost; const int32_t *own;
    int32_t **cheap; /* of features whose costs do not just rise on both sides: the cheapest of 2^k cells from each on */
    uint64_t *whole, *point; double *paid; uint8_t *used; int64_t *leaf_at;
    List *lists; Limit *limits; int64_t n_limits, room;
    double best, work, bytes; int32_t *answer; int failed; double start;
} Search;

static double now(void) { struct timespec t; timespec_get(&t, TIME_UTC); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

/* Memory that counts; what cannot be had ends the search. */
static void *more(Search *s, void *old, double before, double bytes) {
    s->bytes += bytes - before;
    if (s->bytes > s->q->most_bytes) { s->failed = 1; return NULL; }
    void *made = realloc(old, bytes < 1 ? 1 : (size_t)bytes);
    if (!made) s->failed = 1;
    return made;
}

#define LO(b) ((int32_t)((b) >> 32))
#define HI(b) ((int32_t)((b) & 0xffffffffu))
#define STRETCH(lo, hi) (((uint64_t)(uint32_t)(lo) << 32) | (uint32_t)(hi))
#define FIRST(set) ((int32_t)__builtin_ctzll(set))
static inline const double *costs(const Search *s, int32_t j) { return s->cost + s->m->start[j]; }
static inline int32_t n_cells(const Search *s, int32_t j) { return (int32_t)(s->m->start[j + 1] - s->m->start[j]); }

/* The cheapest cell of a stretch or a set. */
static inline int32_t cheapest_level(const Search *s, int32_t j, uint64_t set) {
    if (set >> s->own[j] & 1) return s->own[j];
    const double *c = costs(s, j); int32_t best = FIRST(set);
    for (set &= set - 1; set; set &= set - 1) if (c[FIRST(set)] < c[best]) best = FIRST(set);
    return best;
}
static inline int32_t cheapest_between(const Search *s, int32_t j, int32_t lo, int32_t hi) {
    const int32_t own = s->own[j];
    if (own >= lo && own <= hi) return own;
    if (!s->cheap[j]) return own < lo ? lo : hi;
    const int32_t n = n_cells(s, j), k = 31 - __builtin_clz((unsigned)(hi - lo + 1));
    const int32_t a = s->cheap[j][k * n + lo], b = s->cheap[j][k * n + hi - (1 << k) + 1];
    return costs(s, j)[a] <= costs(s, j)[b] ? a : b;
}
static inline int32_t cheapest(const Search *s, int32_t j, uint64_t part) {
    return s->m->is_set[j] ? cheapest_level(s, j, part) : cheapest_between(s, j, LO(part), HI(part));
}
static inline double least(const Search *s, int32_t j, uint64_t part) { return costs(s, j)[cheapest(s, j, part)]; }

/* What a limit leaves of a part: 0 where nothing (no part is 0: a stretch 0..0 is met only as a whole). */
static inline int meets(const Search *s, const Limit *l, uint64_t part, uint64_t *left) {
    if (s->m->is_set[l->feature]) { *left = part & l->set; return *left != 0; }
    const int32_t lo = l->lo > LO(part) ? l->lo : LO(part), hi = l->hi < HI(part) ? l->hi : HI(part);
    *left = STRETCH(lo, hi);
    return lo <= hi;
}

/* Costs that do not just rise on both sides of the own cell get a table of the cheapest of all stretches. */
static int is_valley(const double *c, int32_t n, int32_t own) {
    for (int32_t k = own + 1; k < n; k++) if (c[k] < c[k - 1]) return 0;
    for (int32_t k = own - 1; k >= 0; k--) if (c[k] < c[k + 1]) return 0;
    return 1;
}
static void prepare_costs(Search *s) {
    for (int32_t j = 0; j < s->m->n_features && !s->failed; j++) {
        const int32_t n = n_cells(s, j); const double *c = costs(s, j);
        if (s->m->is_set[j] || is_valley(c, n, s->own[j])) continue;
        int levels = 1; while ((1 << levels) <= n) levels++;
        int32_t *t = more(s, NULL, 0, 4.0 * levels * n);
        if (!t) return;
        for (int32_t k = 0; k < n; k++) t[k] = k;
        for (int i = 1; i < levels; i++) for (int32_t k = 0; k + (1 << i) <= n; k++) {
            const int32_t a = t[(i - 1) * n + k], b = t[(i - 1) * n + k + (1 << (i - 1))];
            t[i * n + k] = c[a] <= c[b] ? a : b;
        }
        s->cheap[j] = t;
    }
}

/* Shrink a box to what can be paid for; its least cost, or infinity where nothing is left. */
static double tighten(const Search *s, uint64_t *box, double *paid) {
    const int64_t d = s->m->n_features; double total = 0;
    for (int32_t j = 0; j < d; j++) total += paid[j] = least(s, j, box[j]);
    const double most = s->best - s->q->tolerance;
    if (!(total < most)) return INFINITY;
    for (int32_t j = 0; j < d; j++) {
        const double room = most - (total - paid[j]), *c = costs(s, j);
        if (s->m->is_set[j]) {
            uint64_t kept = 0;
            for (uint64_t set = box[j]; set; set &= set - 1) if (c[FIRST(set)] < room) kept |= 1ULL << FIRST(set);
            box[j] = kept;
        } else {
            int32_t lo = LO(box[j]), hi = HI(box[j]);
            while (hi > lo && !(c[hi] < room)) hi--;
            while (lo < hi && !(c[lo] < room)) lo++;
            box[j] = STRETCH(lo, hi);
        }
        if (s->m->is_set[j] ? !box[j] : !(least(s, j, box[j]) < room)) return INFINITY;
    }
    return total;
}

/* ---- the leaves of every tree that the row can reach and pay for ---- */
static void put_leaf(Search *s, int32_t node, int64_t first, int64_t last, double cost, int64_t at, int32_t n) {
    for (int64_t t = first; t < last && !s->failed; t++) {
        List *l = s->lists + t;
        if (l->n == l->room) {
            Leaf *made = more(s, l->leaf, (double)sizeof(Leaf) * (double)l->room, (double)sizeof(Leaf) * (double)(2 * l->room + 16));
            if (!made) return;
            l->leaf = made; l->room = 2 * l->room + 16;
        }
        l->leaf[l->n++] = (Leaf){s->m->value[s->m->list_condition[t] * s->m->n_nodes + node], cost, at, n};
    }
}
/* A leaf is a box; where a value without a place and others beside a gap lead to it, it is several. */
static void put_leaves(Search *s, int32_t node, int64_t first, int64_t last, const uint64_t *box, const uint8_t *with_own, int32_t j, Limit *made, int32_t n, double cost) {
    const int64_t d = s->m->n_features;
    for (; j < d; j++) {
        if (!s->used[j]) continue;
        const int is_set = s->m->is_set[j]; uint64_t parts[2]; int n_parts = 0;
        if (is_set || s->own[j] > 0) parts[n_parts++] = box[j];
        else {
            const int32_t lo = LO(box[j]), hi = HI(box[j]);
            if (with_own[j] && (lo > hi || lo > 1)) parts[n_parts++] = STRETCH(0, 0);
            if (lo <= hi) parts[n_parts++] = STRETCH(with_own[j] && lo == 1 ? 0 : lo, hi);
        }
        for (int p = 0; p < n_parts; p++) {
            const uint64_t part = parts[p]; const double price = cost + least(s, j, part);
            if (!(price < s->best - s->q->tolerance)) continue;
            int32_t m = n;
            if (part != s->whole[j]) made[m++] = is_set ? (Limit){j, 0, 0, part} : (Limit){j, LO(part), HI(part), 0};
            put_leaves(s, node, first, last, box, with_own, j + 1, made, m, price);
        }
        return;
    }
    if (s->n_limits + n > s->room) {
        const int64_t room = 2 * (s->n_limits + n) + 1024;
        Limit *all = more(s, s->limits, (double)sizeof(Limit) * (double)s->room, (double)sizeof(Limit) * (double)room);
        if (!all) return;
        s->limits = all; s->room = room;
    }
    if (n) memcpy(s->limits + s->n_limits, made, sizeof(Limit) * (size_t)n);
    put_leaf(s, node, first, last, cost, s->n_limits, n);
    s->n_limits += n;
}
static void walk(Search *s, int32_t node, int64_t first, int64_t last, uint64_t *box, uint8_t *with_own, Limit *made, int depth) {
    const Problem *m = s->m; const int32_t j = m->feature[node];
    s->work++;
    if (s->failed || depth > DEEPEST) { s->failed = 1; return; }
    if (j < 0) { put_leaves(s, node, first, last, box, with_own, 0, made, 0, 0.0); return; }
    const uint64_t kept = box[j]; const uint8_t used = s->used[j], own = with_own[j];
    s->used[j] = 1;
    for (int right = 0; right < 2; right++) {
        const int32_t below = right ? m->right[node] : m->left[node];
        if (m->is_set[j]) {
            box[j] = kept & (right ? ~m->mask[node] : m->mask[node]);
            if (box[j]) walk(s, below, first, last, box, with_own, made, depth + 1);
        } else {
            int32_t lo = LO(kept), hi = HI(kept);
            if (right && m->cut[node] >= lo) lo = m->cut[node] + 1;
            if (!right && m->cut[node] < hi) hi = m->cut[node];
            if (own) with_own[j] = s->q->own_left[node] != right;
            if (hi < lo) hi = lo - 1;
            box[j] = STRETCH(lo, hi);
            if (lo <= hi || with_own[j]) walk(s, below, first, last, box, with_own, made, depth + 1);
            with_own[j] = own;
        }
    }
    box[j] = kept; s->used[j] = used;
}
static int by_value(const void *a, const void *b) {
    const Leaf *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return x->cost < y->cost ? -1 : x->cost > y->cost;
}
static int make_lists(Search *s) { /* 0 where a tree has no leaf left */
    const Problem *m = s->m; const size_t d = (size_t)m->n_features;
    uint64_t *box = malloc(8 * d + 1); uint8_t *with_own = malloc(d + 1); Limit *made = malloc(sizeof(Limit) * (d + 1));
    int all = 1;
    if (!box || !with_own || !made) s->failed = 1;
    for (int64_t first = 0, last; first < m->n_lists && all && !s->failed; first = last) {
        for (last = first; last < m->n_lists && m->list_tree[last] == m->list_tree[first]; last++) {}
        memcpy(box, s->whole, 8 * d);
        for (size_t j = 0; j < d; j++) {
            with_own[j] = !m->is_set[j] && s->own[j] == 0;
            if (with_own[j]) box[j] = STRETCH(LO(box[j]) ? LO(box[j]) : 1, HI(box[j])); /* 0 is told apart on the way */
        }
        walk(s, (int32_t)m->root[m->list_tree[first]], first, last, box, with_own, made, 0);
        for (int64_t t = first; t < last && !s->failed; t++) {
            all &= s->lists[t].n > 0;
            if (s->lists[t].n) qsort(s->lists[t].leaf, (size_t)s->lists[t].n, sizeof(Leaf), by_value);
        }
    }
    free(box); free(with_own); free(made);
    return all;
}

/* ---- bounds and points ---- */
static inline int reaches(const Search *s, const Leaf *f, const uint64_t *box, const double *paid, double room) {
    const Limit *l = s->limits + f->at; double extra = 0;
    for (int32_t i = 0; i < f->n; i++) {
        const int32_t j = l[i].feature; uint64_t left;
        if (!meets(s, l + i, box[j], &left)) return 0;
        extra += least(s, j, left) - paid[j];
        if (extra >= room) return 0;
    }
    return 1;
}
/* Move places on; the least that a condition may exceed its need by, 0 or less where the box holds no answer. */
static double bound(Search *s, const uint64_t *box, const double *paid, double total, uint32_t *place, double *sums) {
    const Problem *m = s->m; const double room = s->best - s->q->tolerance - total;
    for (int64_t g = 0; g < m->n_conditions; g++) sums[g] = 0;
    for (int64_t t = 0; t < m->n_lists; t++) {
        const List *l = s->lists + t; const uint32_t n = (uint32_t)l->n; uint32_t k = place[t];
        while (k < n && !reaches(s, l->leaf + k, box, paid, room)) k++;
        s->work += k - place[t] + 1;
        place[t] = k;
        if (k == n) return -INFINITY;
        sums[m->list_condition[t]] += l->leaf[k].value;
    }
    double most = INFINITY;
    for (int64_t g = 0; g < m->n_conditions; g++) most = fmin(most, sums[g] - s->q->need[g]);
    return most;
}
static double score(Search *s, const uint64_t *point) { /* by how much a point satisfies the conditions */
    const Problem *m = s->m; double sums[MOST_CONDITIONS] = {0}, most = INFINITY;
    for (int64_t t = 0; t < m->n_trees; t++) {
        int32_t k = (int32_t)m->root[t];
        for (int32_t j; (j = m->feature[k]) >= 0; s->work++) {
            const int is_left = m->is_set[j] ? (int)(m->mask[k] >> point[j] & 1) : point[j] ? (int32_t)point[j] <= m->cut[k] : s->q->own_left[k];
            k = is_left ? m->left[k] : m->right[k];
        }
        s->leaf_at[t] = k;
        for (int64_t g = 0; g < m->n_conditions; g++) sums[g] += m->value[g * m->n_nodes + k];
    }
    for (int64_t g = 0; g < m->n_conditions; g++) most = fmin(most, sums[g] - s->q->need[g]);
    return most;
}
static double price(const Search *s, const uint64_t *point) {
    double total = 0;
    for (int32_t j = 0; j < s->m->n_features; j++) total += costs(s, j)[point[j]];
    return total;
}

/* Keep a point that satisfies all, after its changes were taken back as far as they can be, the dearest first. */
static void offer(Search *s, uint64_t *point, uint8_t *done) {
    const int64_t d = s->m->n_features;
    for (int again = 1; again;) {
        again = 0; memset(done, 0, (size_t)d);
        for (;;) {
            int32_t j = -1;
            for (int32_t i = 0; i < d; i++) if (!done[i] && (int32_t)point[i] != s->own[i] && (j < 0 || costs(s, i)[point[i]] > costs(s, j)[point[j]])) j = i;
            if (j < 0) break;
            done[j] = 1;
            const uint64_t was = point[j]; const double *c = costs(s, j);
            point[j] = (uint64_t)s->own[j];
            if (score(s, point) > 0) { again = 1; continue; }
            if (s->m->is_set[j]) {
                int found = 0;
                for (int32_t k = 0; k < n_cells(s, j) && !found; k++) if (c[k] < c[was]) { point[j] = (uint64_t)k; found = score(s, point) > 0; }
                if (!found) point[j] = was; else again = 1;
                continue;
            }
            int64_t near = s->own[j], far = (int64_t)was; /* halve the way back */
            while (near + 1 < far || far + 1 < near) {
                const int64_t middle = (near + far) / 2; point[j] = (uint64_t)middle;
                if (c[middle] < c[far] && score(s, point) > 0) { far = middle; again = 1; } else near = middle;
            }
            point[j] = (uint64_t)far;
        }
    }
    const double cost = price(s, point);
    if (cost < s->best - s->q->tolerance) { s->best = cost; for (int32_t j = 0; j < d; j++) s->answer[j] = (int32_t)point[j]; }
}
/* As many of the leaves that the bound is made of as agree: an answer where these are enough. */
static int round_off(Search *s, const uint64_t *box, const uint32_t *place, uint64_t *part, uint8_t *done) {
    const Problem *m = s->m; uint64_t left;
    memcpy(part, box, 8 * (size_t)m->n_features);
    for (int64_t t = 0; t < m->n_lists; t++) {
        const Leaf *f = s->lists[t].leaf + place[t]; const Limit *l = s->limits + f->at; int32_t i = 0;
        while (i < f->n && meets(s, l + i, part[l[i].feature], &left)) i++;
        if (i == f->n) for (i = 0; i < f->n; i++) { meets(s, l + i, part[l[i].feature], &left); part[l[i].feature] = left; }
    }
    for (int32_t j = 0; j < m->n_features; j++) part[j] = (uint64_t)cheapest(s, j, part[j]);
    if (!(score(s, part) > 0) || isinf(price(s, part))) return 0;
    offer(s, part, done);
    return 1;
}

/* ---- which cut divides a box ---- */
typedef struct { int32_t feature, cut, kind; } Split; /* kind 0: cells from the cut on, 1: up to it, 2: all levels but one */
static int by_cut(const void *a, const void *b) {
    const Vote *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->cut > y->cut) - (x->cut < y->cut);
}
/* Every leaf of the bound that the cheapest cells miss votes, with what it would gain, for the cuts that exclude them.
 * Taken is what loses most on the near side, times what the far side costs more. */
static Split choose(Search *s, const uint64_t *box, const double *paid, const uint32_t *place, const double *sums, int is_open, Vote *votes) {
    const Problem *m = s->m; int64_t n = 0;
    for (int64_t t = 0; t < m->n_lists; t++) {
        const int32_t g = m->list_condition[t]; const Leaf *f = s->lists[t].leaf + place[t];
        const double gain = (f->value - m->value[g * m->n_nodes + s->leaf_at[m->list_tree[t]]]) / (sums[g] - s->q->need[g]);
        if (gain <= 1e-12) continue;
        const int64_t before = n;
        for (int32_t i = 0; i < f->n; i++) {
            const Limit *l = s->limits + f->at + i; const int32_t at = (int32_t)s->point[l->feature], key = 2 * l->feature;
            if (m->is_set[l->feature]) { if (!(l->set >> at & 1)) votes[n++] = (Vote){key, 0, gain, 0}; }
            else if (l->lo > at) votes[n++] = (Vote){key, l->lo, gain, 0};
            else if (l->hi < at) votes[n++] = (Vote){key + 1, -l->hi, gain, 0};
        }
        for (int64_t i = before; i < n; i++) votes[i].share = gain / (double)(n - before);
    }
    qsort(votes, (size_t)n, sizeof(Vote), by_cut);
    Split best = {-1, 0, 0}; double most = -1;
    for (int64_t i = 0, next; i < n; i = next) {
        double all = 0, share = 0;
        for (next = i; next < n && votes[next].key == votes[i].key; next++) { all += votes[next].gain; share += votes[next].share; }
        const int32_t j = votes[i].key / 2, down = votes[i].key & 1;
        if (m->is_set[j]) {
            const double rise = least(s, j, box[j] & ~(1ULL << s->point[j])) - paid[j], worth = is_open ? share : share * fmax(rise, 1e-3);
            if (worth > most) { most = worth; best = (Split){j, 0, 2}; }
            continue;
        }
        double lost = all;
        for (int64_t k = i; k < next; lost -= votes[k++].gain) {
            if (k > i && votes[k].cut == votes[k - 1].cut) continue;
            if (is_open && k > i && lost < all / 2) break; /* the median */
            const int32_t cut = down ? -votes[k].cut : votes[k].cut;
            const double rise = least(s, j, down ? STRETCH(LO(box[j]), cut) : STRETCH(cut, HI(box[j]))) - paid[j];
            const double worth = is_open ? share * (1 + 1e-9 * (double)(k - i)) : share / all * lost * fmax(rise, 1e-3);
            if (worth > most) { most = worth; best = (Split){j, cut, down}; }
        }
    }
    return best;
}
static int divided(const Search *s, const Split *cut, const uint64_t *box, int far, uint64_t *part) {
    const int32_t j = cut->feature; const uint64_t at = s->point[j];
    memcpy(part, box, 8 * (size_t)s->m->n_features);
    if (cut->kind == 2) { part[j] = far ? box[j] & ~(1ULL << at) : 1ULL << at; return part[j] != 0; }
    const int32_t lo = LO(box[j]), hi = HI(box[j]), to = cut->cut;
    part[j] = cut->kind == 0 ? (far ? STRETCH(to, hi) : STRETCH(lo, to - 1)) : (far ? STRETCH(lo, to) : STRETCH(to + 1, hi));
    return LO(part[j]) <= HI(part[j]);
}

/* ---- boxes that are still open, the most promising on top ---- */
typedef struct { char *boxes; Item *heap; int64_t *freed; int64_t n, used, n_freed, room; size_t size; } Open;
static int goes_before(Item a, Item b) { return a.key < b.key || (a.key == b.key && a.box > b.box); }
static void push(Search *s, Open *o, double key, const uint64_t *box, const uint32_t *place) {
    const size_t d = (size_t)s->m->n_features;
    if (!o->n_freed && o->used == o->room) {
        const double each = (double)o->size + sizeof(Item) + 8, had = (double)o->room, room = 2 * had + 256;
        s->bytes += (room - had) * each;
        if (s->bytes > s->q->most_bytes) { s->failed = 1; return; }
        void *a = realloc(o->boxes, o->size * (size_t)room); if (a) o->boxes = a;
        void *b = realloc(o->heap, sizeof(Item) * (size_t)room); if (b) o->heap = b;
        void *c = realloc(o->freed, 8 * (size_t)room); if (c) o->freed = c;
        if (!a || !b || !c) { s->failed = 1; return; }
        o->room = (int64_t)room;
    }
    const int64_t id = o->n_freed ? o->freed[--o->n_freed] : o->used++; char *to = o->boxes + o->size * (size_t)id;
    memcpy(to, box, 8 * d); memcpy(to + 8 * d, place, 4 * (size_t)s->m->n_lists);
    const Item x = {key, id}; int64_t i = o->n++;
    for (int64_t up; i && goes_before(x, o->heap[up = (i - 1) / 2]); i = up) o->heap[i] = o->heap[up];
    o->heap[i] = x;
}
static void pop(Search *s, Open *o, uint64_t *box, uint32_t *place) {
    const size_t d = (size_t)s->m->n_features; const Item top = o->heap[0], x = o->heap[--o->n]; int64_t i = 0;
    for (int64_t c; (c = 2 * i + 1) < o->n; i = c) {
        if (c + 1 < o->n && goes_before(o->heap[c + 1], o->heap[c])) c++;
        if (!goes_before(o->heap[c], x)) break;
        o->heap[i] = o->heap[c];
    }
    if (o->n) o->heap[i] = x;
    const char *from = o->boxes + o->size * (size_t)top.box;
    memcpy(box, from, 8 * d); memcpy(place, from + 8 * d, 4 * (size_t)s->m->n_lists);
    o->freed[o->n_freed++] = top.box;
}

typedef struct { uint64_t *box, *part; double *paid, *of_part; uint32_t *place, *of_child; Vote *votes; uint8_t *done; } Room;

/* From the whole box on: by bounds as long as there is no answer, else by costs. Every status but STOPPED is a proof. */
static int run(Search *s, Open *o, Room *r, Answer *a) {
    const Problem *m = s->m; const size_t d = (size_t)m->n_features; double sums[MOST_CONDITIONS], of_part[MOST_CONDITIONS];
    int is_open = isinf(s->best); /* no answer is known */
    o->n = o->used = o->n_freed = 0;
    memcpy(r->box, s->whole, 8 * d); memset(r->place, 0, 4 * (size_t)m->n_lists);
    double total = tighten(s, r->box, r->paid), slack = isinf(total) ? -INFINITY : bound(s, r->box, r->paid, total, r->place, sums);
    a->lower = 0;
    if (slack > 0) push(s, o, is_open ? -slack : total, r->box, r->place);
    while (o->n && !s->failed) {
        if (s->work > s->q->most_work || ((int64_t)a->nodes % 16 == 0 && s->q->seconds > 0 && now() - s->start > s->q->seconds)) {
            if (!is_open) a->lower = fmin(o->heap[0].key, s->best);
            return STOPPED;
        }
        if (!is_open) a->lower = fmin(o->heap[0].key, s->best);
        if (!is_open && o->heap[0].key >= s->best - s->q->tolerance) return PROVED;
        pop(s, o, r->box, r->place); a->nodes++;
        total = tighten(s, r->box, r->paid);
        if (isinf(total) || !(bound(s, r->box, r->paid, total, r->place, sums) > 0)) continue;
        for (int32_t j = 0; j < m->n_features; j++) s->point[j] = (uint64_t)cheapest(s, j, r->box[j]);
        if (score(s, s->point) > 0) {
            if (is_open) { offer(s, s->point, r->done); return -1; }
            s->best = total;
            for (size_t j = 0; j < d; j++) s->answer[j] = (int32_t)s->point[j];
            return PROVED;
        }
        const Split cut = choose(s, r->box, r->paid, r->place, sums, is_open, r->votes);
        if (is_open || (int64_t)a->nodes % 8 == 1) if (round_off(s, r->box, r->place, r->part, r->done) && is_open) return -1;
        if (cut.feature < 0) continue; /* the bound is what the point has: no answer here */
        for (int far = 0; far < 2; far++) {
            if (!divided(s, &cut, r->box, far, r->part)) continue;
            const double cost = tighten(s, r->part, r->of_part);
            if (isinf(cost)) continue;
            memcpy(r->of_child, r->place, 4 * (size_t)m->n_lists);
            slack = bound(s, r->part, r->of_part, cost, r->of_child, of_part);
            if (slack > 0) push(s, o, is_open ? -slack : cost, r->part, r->of_child);
        }
    }
    if (s->failed) return STOPPED;
    a->lower = s->best;
    return isinf(s->best) ? NONE : PROVED;
}

static int search(Search *s, Open *o, Room *r, Answer *a) {
    const Problem *m = s->m; const size_t d = (size_t)m->n_features;
    prepare_costs(s);
    for (size_t j = 0; j < d && !s->failed; j++) {
        const double *c = costs(s, (int32_t)j); s->whole[j] = 0;
        if (m->is_set[j]) { for (int32_t k = 0; k < n_cells(s, (int32_t)j); k++) if (!isinf(c[k])) s->whole[j] |= 1ULL << k; }
        else s->whole[j] = STRETCH(0, n_cells(s, (int32_t)j) - 1);
    }
    if (s->failed) return STOPPED;
    const double best = s->best;
    if (isinf(tighten(s, s->whole, r->paid))) { a->lower = best; return isinf(best) ? NONE : PROVED; }
    if (!make_lists(s)) { a->lower = best; return s->failed ? STOPPED : isinf(best) ? NONE : PROVED; }
    if (s->failed) return STOPPED;
    int64_t most = 1;
    for (int64_t t = 0; t < m->n_lists; t++) { int32_t widest = 0; for (int64_t k = 0; k < s->lists[t].n; k++) if (s->lists[t].leaf[k].n > widest) widest = s->lists[t].leaf[k].n; most += widest; }
    r->votes = more(s, NULL, 0, (double)sizeof(Vote) * (double)most);
    int found = s->failed ? STOPPED : run(s, o, r, a);
    if (found < 0) found = run(s, o, r, a); /* an answer is known now */
    return found;
}

/* Cells that cost less than the incumbent and satisfy all, the cheapest; `cells` stay as they are where there are none. */
int xcid_nearest(const Problem *m, const Query *q, Answer *a) {
    const size_t d = (size_t)m->n_features, n = (size_t)m->n_lists; Search s = {0}; Open o = {0}; Room r = {0};
    int found = STOPPED;
    s.m = m; s.q = q; s.cost = q->cost; s.own = q->own; s.best = q->incumbent; s.answer = a->cells; s.start = now();
    s.cheap = calloc(d + 1, sizeof(int32_t *)); s.whole = malloc(8 * d + 8); s.point = malloc(8 * d + 8);
    s.used = calloc(d + 1, 1); s.leaf_at = malloc(8 * (size_t)m->n_trees + 8); s.lists = calloc(n + 1, sizeof(List));
    r.box = malloc(8 * d + 8); r.part = malloc(8 * d + 8); r.paid = malloc(8 * d + 8); r.of_part = malloc(8 * d + 8);
    r.place = calloc(n + 1, 4); r.of_child = malloc(4 * n + 4); r.done = malloc(d + 1);
    o.size = 8 * d + (4 * n + 7) / 8 * 8;
    a->lower = 0; a->nodes = 0;
    if (s.cheap && s.whole && s.point && s.used && s.leaf_at && s.lists && r.box && r.part && r.paid && r.of_part && r.place && r.of_child && r.done)
        found = search(&s, &o, &r, a);
    a->cost = s.best; a->work = s.work;
    for (size_t j = 0; s.cheap && j < d; j++) free(s.cheap[j]);
    for (size_t t = 0; s.lists && t < n; t++) free(s.lists[t].leaf);
    free(s.cheap); free(s.whole); free(s.point); free(s.used); free(s.leaf_at); free(s.lists); free(s.limits);
    free(r.box); free(r.part); free(r.paid); free(r.of_part); free(r.place); free(r.of_child); free(r.votes); free(r.done);
    free(o.boxes); free(o.heap); free(o.freed);
    return found;
}
