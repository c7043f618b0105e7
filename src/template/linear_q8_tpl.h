/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tpl.h - int8 activations times quantised panels.
 *
 * Needs a vec_*.h, QUIRE_ISA and LINEAR_Q8_ROWS (1, 2, 4 or 8), the activation rows of a register
 * tile. A group of weights is unpacked once for up to LINEAR_QUANT_M rows, whose accumulators stay
 * in memory. */
#include "template/linear_unpack_tpl.h"

/* One group times some activation rows: pointers at the group's first k. */
struct linear_q8_part {
    const struct linear_group *g;
    const int8_t *q;
    const float *d;
    const int32_t *sum;
    float *acc;              /* [rows][16] */
    size_t q_stride, blocks; /* of a row: bytes; blocks of 32 */
    size_t n_blocks;         /* of the group */
    int32_t offset;          /* by which codes exceed weights */
};

/* What differs between types once a group is unpacked. */
enum linear_q8_kind {
    LINEAR_Q8_SUB16 = 1, /* a scale per 16 values, else per 32 */
    LINEAR_Q8_MIN = 2,
    LINEAR_Q8_FULL = 4, /* codes need eight bits */
};

enum { LINEAR_Q8_VECS = QUIRE_PANEL_ROWS / VF32_N };

LINEAR_INLINE vi32 linear_broadcast4(const int8_t *q)
{
    int32_t four;
    memcpy(&four, q, sizeof four);
    return vi32_set1(four);
}

LINEAR_INLINE int32_t linear_q8_sum(int kind, const int32_t *sum16, size_t i)
{
    return kind & LINEAR_Q8_SUB16 ? sum16[i] : sum16[2 * i] + sum16[2 * i + 1];
}

/* Sub-block i for `rows` activation rows: integer dots of its steps, then the two float operations
 * of N2. */
LINEAR_INLINE void linear_q8_sub(int kind, int rows, const struct linear_q8_part *p, size_t i,
                                 vf32 (*acc)[LINEAR_Q8_VECS])
{
    const size_t steps = kind & LINEAR_Q8_SUB16 ? 4 : 8;
    vi32 isum[LINEAR_Q8_ROWS][LINEAR_Q8_VECS];
    LINEAR_UNROLL for (int r = 0; r < rows; r++)
    {
        const int32_t *sum = p->sum + 2 * (size_t)r * p->blocks;
        const vi32 start =
            p->offset ? vi32_set1(-p->offset * linear_q8_sum(kind, sum, i)) : vi32_zero();
        LINEAR_UNROLL for (int v = 0; v < LINEAR_Q8_VECS; v++) isum[r][v] = start;
    }
    _Pragma("GCC unroll 2") for (size_t s = 0; s < steps; s++)
    {
        const size_t step = i * steps + s;
        LINEAR_UNROLL for (int v = 0; v < LINEAR_Q8_VECS; v++)
        {
            const vi32 w = vi32_load(&p->g->codes[step][v * 4 * VF32_N]);
            LINEAR_UNROLL for (int r = 0; r < rows; r++)
            {
                const vi32 a = linear_broadcast4(p->q + (size_t)r * p->q_stride + 4 * step);
                isum[r][v] = kind & LINEAR_Q8_FULL ? vi32_dot_w8(isum[r][v], w, a)
                                                   : vi32_dot_u7(isum[r][v], w, a);
            }
        }
    }
    LINEAR_UNROLL for (int r = 0; r < rows; r++)
    {
        const float d = p->d[(size_t)r * p->blocks + i * steps / 8];
        const int32_t *sum = p->sum + 2 * (size_t)r * p->blocks;
        LINEAR_UNROLL for (int v = 0; v < LINEAR_Q8_VECS; v++)
        {
            const vf32 scale = vf32_mul(vf32_load(&p->g->scale[i][v * VF32_N]), vf32_set1(d));
            acc[r][v] = vf32_fma(vf32_from_i32(isum[r][v]), scale, acc[r][v]);
            if (kind & LINEAR_Q8_MIN) {
                const vf32 ds = vf32_set1(d * (float)linear_q8_sum(kind, sum, i));
                acc[r][v] = vf32_fnma(vf32_load(&p->g->min[i][v * VF32_N]), ds, acc[r][v]);
            }
        }
    }
}

LINEAR_INLINE void linear_q8_tile(int kind, int rows, const struct linear_q8_part *p)
{
    vf32 acc[LINEAR_Q8_ROWS][LINEAR_Q8_VECS];
    LINEAR_UNROLL for (int r = 0; r < rows; r++)
        LINEAR_UNROLL for (int v = 0; v < LINEAR_Q8_VECS; v++) acc[r][v] =
            vf32_load(p->acc + r * QUIRE_PANEL_ROWS + v * VF32_N);
    const size_t n_sub = p->n_blocks * (kind & LINEAR_Q8_SUB16 ? 2 : 1);
    for (size_t i = 0; i < n_sub; i++)
        linear_q8_sub(kind, rows, p, i, acc);
    LINEAR_UNROLL for (int r = 0; r < rows; r++)
        LINEAR_UNROLL for (int v = 0; v < LINEAR_Q8_VECS; v++)
            vf32_store(p->acc + r * QUIRE_PANEL_ROWS + v * VF32_N, acc[r][v]);
}

LINEAR_INLINE size_t linear_q8_tiles(int kind, int rows, struct linear_q8_part *p, size_t m)
{
    for (; m >= (size_t)rows; m -= (size_t)rows) {
        linear_q8_tile(kind, rows, p);
        p->q += (size_t)rows * p->q_stride;
        p->d += (size_t)rows * p->blocks;
        p->sum += 2 * (size_t)rows * p->blocks;
        p->acc += rows * QUIRE_PANEL_ROWS;
    }
    return m;
}

#define LINEAR_Q8_PART(name, kind)                                                                 \
    static __attribute__((noinline, unused)) void linear_q8_part_##name(struct linear_q8_part p,   \
                                                                        size_t m)                  \
    {                                                                                              \
        m = linear_q8_tiles(kind, LINEAR_Q8_ROWS, &p, m);                                          \
        if (LINEAR_Q8_ROWS > 4)                                                                    \
            m = linear_q8_tiles(kind, LINEAR_Q8_ROWS < 4 ? LINEAR_Q8_ROWS : 4, &p, m);             \
        if (LINEAR_Q8_ROWS > 2)                                                                    \
            m = linear_q8_tiles(kind, LINEAR_Q8_ROWS < 2 ? LINEAR_Q8_ROWS : 2, &p, m);             \
        (void)linear_q8_tiles(kind, 1, &p, m);                                                     \
    }
LINEAR_Q8_PART(plain, 0)
LINEAR_Q8_PART(min, LINEAR_Q8_MIN)
LINEAR_Q8_PART(full, LINEAR_Q8_FULL)
LINEAR_Q8_PART(sub16, LINEAR_Q8_SUB16)
LINEAR_Q8_PART(sub16_min, LINEAR_Q8_SUB16 | LINEAR_Q8_MIN)

LINEAR_INLINE void linear_q8_multiply(struct quire_panel_format f, struct linear_q8_part p,
                                      size_t m)
{
    if (linear_full_bytes(f))
        linear_q8_part_full(p, m);
    else if (quire_panel_sub16(f) && quire_panel_has_min(f))
        linear_q8_part_sub16_min(p, m);
    else if (quire_panel_sub16(f))
        linear_q8_part_sub16(p, m);
    else if (quire_panel_has_min(f))
        linear_q8_part_min(p, m);
    else
        linear_q8_part_plain(p, m);
}

LINEAR_INLINE void linear_q8_run(struct quire_panel_format f, const struct quire_linear_args *a)
{
    enum { R = QUIRE_PANEL_ROWS, GROUP_BLOCKS = QUIRE_GROUP_K / QUIRE_BLOCK_K };
    _Alignas(64) float acc[LINEAR_QUANT_M * R];
    struct linear_group g;
    const size_t blocks = a->k / QUIRE_BLOCK_K;
    for (size_t j0 = 0; j0 < a->n; j0 += R)
        for (size_t i0 = 0; i0 < a->m; i0 += LINEAR_QUANT_M) {
            const size_t m = a->m - i0 < LINEAR_QUANT_M ? a->m - i0 : LINEAR_QUANT_M;
            const uint8_t *group = (const uint8_t *)a->w + j0 / R * a->panel_bytes;
            memset(acc, 0, m * R * sizeof *acc);
            for (size_t b = 0; b < blocks; b += GROUP_BLOCKS) {
                const size_t nb = blocks - b < GROUP_BLOCKS ? blocks - b : GROUP_BLOCKS;
                linear_unpack(f, VI32_W8_OFFSET == 0, group, nb, &g);
                group += quire_panel_group_bytes(f, nb);
                const struct linear_q8_part p = {
                    .g = &g,
                    .q = a->q + i0 * a->q_stride + b * QUIRE_BLOCK_K,
                    .d = a->q_d + i0 * blocks + b,
                    .sum = a->q_sum + 2 * (i0 * blocks + b),
                    .acc = acc,
                    .q_stride = a->q_stride,
                    .blocks = blocks,
                    .n_blocks = nb,
                    .offset = linear_full_bytes(f) ? VI32_W8_OFFSET : f.offset,
                };
                linear_q8_multiply(f, p, m);
            }
            linear_store(a, i0, m, j0, R, acc);
        }
}

#define X(name, NAME, ...)                                                                         \
    void LINEAR_KERNEL(linear_q8_##name)(const struct quire_linear_args *a)                        \
    {                                                                                              \
        linear_q8_run((struct quire_panel_format)QUIRE_PANEL_FORMAT(__VA_ARGS__), a);              \
    }
QUIRE_QUANT_TYPES(X)
#undef X
