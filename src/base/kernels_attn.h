/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_attn.h - attention over one tile of 64 keys: scores, softmax state, weighted values, span merge.
 *
 * A tile is four columns of 16 consecutive tokens at absolute positions 64*i + 16*c; K and V lie as kv/layout.h
 * says. Head sizes that are no multiple of 8 are plain rows, which only the generic level reads. The order of adds
 * is fixed by docs/numerics.md (N3, N4, A1-A4) and holds at every level, so the f32 kernels give the same bits
 * everywhere; the native ones may differ between levels where an intermediate is subnormal (vdpbf16ps flushes).
 *
 * fp8 tiles are first unpacked to bf16, which is exact, and then go through the bf16 kernels. */
#ifndef QUIRE_BASE_KERNELS_ATTN_H
#define QUIRE_BASE_KERNELS_ATTN_H
#include <stddef.h>
#include <stdint.h>

enum { QUIRE_TILE_KEYS = 64, QUIRE_SPAN_KEYS = 512, QUIRE_TILE_COLUMNS = 4, QUIRE_COLUMN_KEYS = 16 };

/* A row's reference maximum moves only when a score exceeds it by more than this many powers of two (A3). */
#define QUIRE_RESCALE_STEP 8.0f

/* Raw scores of n_rows query rows against one tile: s[r * 64 + j] = q_r . k_j, one chain over d. Columns whose
 * pointer is NULL are not read and their scores are left as they are. */
struct quire_attn_qk_args {
    const void *q;    /* [n_rows][head_size] f32, or bf16 for the *_native kernels */
    const void *k[4]; /* column c: K of its 16 tokens, from d = 0 on */
    size_t k_stride;  /* bytes from one d step to the next (f32, f16: d; bf16: d pair); plain rows: token to token */
    float *s;         /* [n_rows][64] */
    int n_rows, head_size;
};

/* Softmax weights of n_rows rows for one tile, and their running state over one span. With c = log2(e):
 *   x = s * (scale * c), or with a soft cap  x = tanh(s * (scale / cap)) * (cap * c)
 *   x = fma(slope * c, distance + j, x)      if slope is given
 *   m moves to max x over the visible keys if that is above m + QUIRE_RESCALE_STEP; l, o are then scaled by 2^(old m - m)
 *   p = 2^(x - m), 0 for keys that are not visible; l[j % 16] += p in rising j (of the rounded p with p_bf16) */
struct quire_attn_softmax_args {
    float *s;                /* [n_rows][64] raw scores in; weights out where p_bf16 is NULL */
    uint16_t *p_bf16;        /* [n_rows][64] weights rounded to bf16, or NULL */
    const uint64_t *visible; /* [n_rows] bit j: the row sees key j. 0: the row's state and weights stay as they are */
    float *m;                /* [n_rows] reference maximum of x, -inf before the first key */
    float *l;                /* [n_rows][16] lane sums */
    float *l_exact;          /* [n_rows][16] likewise, of the weights before they are rounded, for the LSE; or NULL */
    float *o;                /* [n_rows][o_stride] accumulators */
    const float *slope;      /* [n_rows] ALiBi slopes, or NULL */
    const int64_t *distance; /* [n_rows] position of key 0 minus the row's position; read only with slope */
    size_t o_stride;         /* floats */
    float scale;             /* softmax scale times k_scale */
    float soft_cap;          /* 0 = off */
    int n_rows, o_width;     /* o_width: floats of o in use, a multiple of 16 unless rows are plain */
};

/* o[r][d] += sum over the visible keys t, ascending, of p[r][t] * v[t][d]. Values of other keys never count, even
 * if they are NaN. Works on v_head_size rounded up to 16 (what lands beyond v_head_size is meaningless). */
struct quire_attn_pv_args {
    const void *p;           /* [n_rows][64] f32, or bf16 for the *_native kernels */
    const void *v[4];        /* column c: V of its 16 tokens; may be NULL where no row sees a key */
    size_t v_stride;         /* bytes from one token step to the next (f32, f16: token; bf16: pair); plain rows: token */
    float *o;                /* [n_rows][o_stride] */
    const uint64_t *visible; /* [n_rows] */
    size_t o_stride;         /* floats, >= v_head_size rounded up to 16 (plain rows: >= v_head_size) */
    int n_rows, v_head_size;
};

/* Joins the state of the next span (part) to that of the spans before it (acc), row by row:
 *   m = max(acc_m, part_m), l = fma(part_l, 2^(part_m - m), acc_l * 2^(acc_m - m)), o likewise
 * A part with l = 0 has seen no key and changes nothing; an acc with l = 0 becomes a copy of part. */
struct quire_attn_merge_args {
    float *acc_m, *acc_l, *acc_l_exact, *acc_o; /* [n_rows] thrice, [n_rows][stride]; l_exact NULL: not wanted */
    const float *part_m, *part_l, *part_l_exact, *part_o; /* likewise */
    size_t stride;                         /* floats */
    int n_rows, width;                     /* width: floats of o in use */
};

/* fp8 cells (64 bytes: 16 elements wide, 4 deep) to bf16 pairs. Cell i of step s, at src + s * src_stride + 64 * i,
 * fills 32 halves at dst + (2 * s) * dst_stride + 32 * i with its first two deep elements and 32 halves one
 * dst_stride later with the other two. */
struct quire_attn_unpack_args {
    const uint8_t *src;
    uint16_t *dst;
    size_t src_stride; /* bytes */
    size_t dst_stride; /* halves */
    int n_steps, n_cells;
};

#define QUIRE_KERNELS_ATTN(X)                                                        \
    X(void, attn_qk_f32, (const struct quire_attn_qk_args *a))                       \
    X(void, attn_qk_f16, (const struct quire_attn_qk_args *a))                       \
    X(void, attn_qk_bf16, (const struct quire_attn_qk_args *a))                      \
    X(void, attn_qk_bf16_native, (const struct quire_attn_qk_args *a))               \
    X(void, attn_softmax, (const struct quire_attn_softmax_args *a))                 \
    X(void, attn_pv_f32, (const struct quire_attn_pv_args *a))                       \
    X(void, attn_pv_f16, (const struct quire_attn_pv_args *a))                       \
    X(void, attn_pv_bf16, (const struct quire_attn_pv_args *a))                      \
    X(void, attn_pv_bf16_native, (const struct quire_attn_pv_args *a))               \
    X(void, attn_merge, (const struct quire_attn_merge_args *a))                     \
    X(void, attn_unpack_fp8_e4m3, (const struct quire_attn_unpack_args *a))          \
    X(void, attn_unpack_fp8_e5m2, (const struct quire_attn_unpack_args *a))

#endif
