/* The program of xcid/native/program.py on the samples of many rows.
 *
 * A set of samples is `words` words of 64 bits, and lies in a register. Each step fills one register from those of the two
 * children of a split; the answers of a group of trees are then numbers of up to 16 bits, one for each sample, which are
 * looked up in the group's table of sums. Rows are taken in blocks, so that a group's steps stay in the cache.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERS 2
#define BLOCK 32

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

typedef struct { int32_t split, to, left, right; } Step;
typedef struct { int64_t first_step, last_step, first_entry, n_bits, n_columns, slot; } Group;
typedef struct {
    const int64_t *feature, *place; /* of each split; the place is that of its set among those of the plan */
    const double *threshold;
    const uint8_t *missing_left;
    const Step *steps;
    const Group *groups;
    const double *tables;
    const uint64_t *goes_left;
    int64_t n_groups, n_registers, n_columns, n_samples, words, single;
} Program;

INLINE void run(const Program *p, const Group *group, const double *row, uint64_t *registers, const int64_t words) {
    for (int64_t at = group->first_step; at < group->last_step; at++) {
        const Step step = p->steps[at];
        const double cell = row[p->feature[step.split]];
        const int own = cell != cell ? p->missing_left[step.split] : cell <= p->threshold[step.split];
        const uint64_t *go = p->goes_left + (p->place[step.split] + own) * words;
        const uint64_t *left = registers + step.left * words, *right = registers + step.right * words;
        uint64_t *restrict to = registers + step.to * words; /* never one of the two */
        for (int64_t w = 0; w < words; w++) to[w] = right[w] ^ ((left[w] ^ right[w]) & go[w]);
    }
}

/* Numbers of 8 bits, one for each sample, from the bits in up to eight registers: squares of 8 by 8 bits, transposed. */
static void transpose(const uint64_t *planes, int64_t n_planes, int64_t words, uint8_t *codes) {
    for (int64_t at = 0; at < 8 * words; at++) {
        uint64_t x = 0, swap;
        for (int64_t bit = 0; bit < n_planes; bit++)
            x |= (uint64_t)((const uint8_t *)(planes + bit * words))[at] << (8 * bit);
        swap = (x ^ (x >> 7)) & UINT64_C(0x00AA00AA00AA00AA); x ^= swap ^ (swap << 7);
        swap = (x ^ (x >> 14)) & UINT64_C(0x0000CCCC0000CCCC); x ^= swap ^ (swap << 14);
        swap = (x ^ (x >> 28)) & UINT64_C(0x00000000F0F0F0F0); x ^= swap ^ (swap << 28);
        for (int byte = 0; byte < 8; byte++) codes[8 * at + byte] = (uint8_t)(x >> (8 * byte));
    }
}

static void look_up(const Program *p, const Group *group, const uint64_t *planes, uint8_t *low, uint8_t *high,
                    double *sums, int64_t stride) {
    const int64_t n = p->n_samples, entries = INT64_C(1) << group->n_bits;
    if (!group->n_bits) { /* a tree of one leaf, in single precision */
        double *to = sums + group->slot * stride;
        for (int64_t i = 0; i < n; i++) to[i] = (float)(to[i] + p->tables[group->first_entry]);
        return;
    }
    transpose(planes, group->n_bits < 8 ? group->n_bits : 8, p->words, low);
    if (group->n_bits > 8) transpose(planes + 8 * p->words, group->n_bits - 8, p->words, high);
    for (int64_t column = 0; column < group->n_columns; column++) {
        const double *table = p->tables + group->first_entry + column * entries;
        double *to = sums + (group->slot + column) * stride;
        if (group->n_bits > 8) for (int64_t i = 0; i < n; i++) to[i] += table[low[i] | high[i] << 8];
        else if (!p->single) for (int64_t i = 0; i < n; i++) to[i] += table[low[i]];
        else for (int64_t i = 0; i < n; i++) to[i] = (float)(to[i] + table[low[i]]);
        if (p->single && group->n_bits > 8) for (int64_t i = 0; i < n; i++) to[i] = (float)to[i];
    }
}

/* Adds to (k, n, s) sums for (n, d) rows; 0, or 1 where there is not enough memory. */
int xcid_sums(const Program *p, const double *rows, int64_t n_rows, double *sums) {
    const int64_t words = p->words, stride = n_rows * p->n_samples;
    uint64_t *registers = malloc((size_t)(p->n_registers * words) * sizeof *registers);
    uint8_t *codes = malloc((size_t)(128 * words));
    if (!registers || !codes) { free(registers); free(codes); return 1; }
    memset(registers, 0, (size_t)words * sizeof *registers);
    memset(registers + words, 255, (size_t)words * sizeof *registers);
    for (int64_t first = 0; first < n_rows; first += BLOCK) {
        const int64_t last = first + BLOCK < n_rows ? first + BLOCK : n_rows;
        for (const Group *group = p->groups; group < p->groups + p->n_groups; group++)
            for (int64_t row = first; row < last; row++) {
                const double *cells = rows + row * p->n_columns;
                if (words == 16) run(p, group, cells, registers, 16); /* 1,000 samples and 3,000 */
                else if (words == 47) run(p, group, cells, registers, 47);
                else run(p, group, cells, registers, words);
                look_up(p, group, registers + ANSWERS * words, codes, codes + 64 * words, sums + row * p->n_samples, stride);
            }
    }
    free(registers); free(codes);
    return 0;
}
