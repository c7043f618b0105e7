/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_attn.h - attention over one tile of 64 keys: Q K^T scores, online softmax, P V, and the
 * merge of spans.
 *
 * A tile is four columns of 16 consecutive tokens at absolute positions 64*i + 16*c, in the layout
 * of kv/layout.h. Head sizes that are not a multiple of 8 are plain rows, which only the generic
 * level reads. docs/numerics.md (N3, N4, A1-A4) fixes the order of additions, so all levels compute
 * the same bits, except where it says otherwise for avx512_amx.
 *
 * fp8 and int8 tiles are dequantized to bf16, which is exact, and then multiplied by the bf16
 * kernels; for few rows, kernels that dequantize in registers compute the same bits as bf16_native.
 * The scales of int8 rows are applied in the softmax (k_scale, v_scale).
 *
 * int4 tiles are multiplied as integers, by queries and weights of 8 bits: docs/numerics.md, "int4
 * cache". In compute mode f32 they are dequantized to bf16 as well. */
#ifndef QR_KERNELS_KERNELS_ATTN_H
#define QR_KERNELS_KERNELS_ATTN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QR_TILE_KEYS = 64, QR_SPAN_KEYS = 512, QR_TILE_COLUMNS = 4, QR_COLUMN_KEYS = 16 };

/* Up to this number of rows, dequantization in registers is faster than in memory. */
enum { QR_CODES_ROWS = 8 };

/* The reference maximum of a row is raised, and its state rescaled, only when a score exceeds it by
 * more than this, as a power of two (A3). */
#define QR_RESCALE_STEP 8.0f

/* Strides of K and V are the bytes from one step to the next. A step is one d (K) or token (V) of
 * f32 and f16, a pair of bf16, four of fp8 and int8; in plain rows always one token.
 *
 * The fp8 and int8 kernels take bf16 queries and weights, packed columns, and tiles of which every
 * row sees every key: all columns are given and `visible` is all ones. They are fast up to
 * QR_CODES_ROWS rows. */

/* Q K^T: raw scores of n_rows query rows against one tile: s[r * 64 + j] = q_r . k_j, one chain
 * over d. Columns whose pointer is NULL are not read and their scores are not written. */
struct qr_attn_qk_args {
    const void *q;    /* [n_rows][head_size] f32, or bf16 for native and 8-bit kernels */
    const void *k[4]; /* column c: K of its 16 tokens, from d = 0 on */
    size_t k_stride;
    float *s; /* [n_rows][64] */
    int n_rows, head_size;
    /* data that the next kernel call reads, prefetched during this one, or NULL; next_l2: into L2
     * only, where the CPU prefetches from there itself */
    const void *next;
    bool next_l2;
    /* int4: bf16 scales of the column's tokens in group 0, and bytes from one group of d's to the
     * next */
    const uint16_t *k_scale[4];
    size_t k_scale_stride;
};

/* A row of int8 queries for int4 keys, as attn_quantize_q_int4 writes it: the codes [n], then f32
 * scales [n / 32], then int32 -20 * (sum of the codes) [n / 32], of each group of 32 values. */
static inline size_t qr_int4_query_bytes(size_t n) { return n + n / 4; }

/* Online softmax: weights of n_rows rows for one tile, and the running state of the rows over a
 * span:
 *
 *   s = s * k_scale[j], if k_scale is given
 *   f = scale, or scale * row_scale[r] if row_scale is given
 *   x = s * (f * c), where c = log2(e); with a soft cap: tanh(s * (f / cap)) * (cap * c)
 *   x = fma(slope * c, distance + j, x), if slope is given
 *   x = fma(bias[r][j], c, x), if bias is given
 *   if max x over the visible keys is above m + QR_RESCALE_STEP, m becomes that maximum, and l,
 *   l_exact and o are multiplied by 2^(old m - m)
 *   p = 2^(x - m), 0 for keys that are not visible; rounded to bf16 if p_bf16 is given (avx512_amx
 *   then computes bits of its own, docs/numerics.md A6)
 *   l[j % 16] += p, j ascending
 *
 * With v_scale, l sums the unrounded weights, and p * v_scale[j] is rounded and stored, 0 where it
 * is below 2^-126 (not every conversion instruction handles denormals). A row that sees no key
 * keeps its state and its weights. */
struct qr_attn_softmax_args {
    float *s;                 /* [n_rows][64] in: raw scores; out: weights, if p_bf16 is NULL */
    uint16_t *p_bf16;         /* [n_rows][64] out: weights; or NULL */
    const uint64_t *visible;  /* [n_rows] bit j: the row sees key j */
    float *m;                 /* [n_rows] reference maximum of x, -inf before the first key */
    float *l;                 /* [n_rows][16] lane sums */
    float *l_exact;           /* [n_rows][16] sums of unrounded weights, for the LSE; or NULL */
    float *o;                 /* [n_rows][o_stride] accumulators */
    const float *slope;       /* [n_rows] ALiBi slopes, or NULL */
    const int64_t *distance;  /* [n_rows] position of key 0 minus the row's; read only with slope */
    const float *row_scale;   /* [n_rows] factors of the scores of a row, or NULL */
    const float *k_scale;     /* [64] factors of the scores of a key, or NULL */
    const float *v_scale;     /* [64] factors of the weights of a key, or NULL */
    const float *const *bias; /* [n_rows] rows of 64 additive biases, in natural units, or NULL */
    size_t o_stride;          /* floats */
    float scale;              /* softmax scale times the k_scale of the head */
    float soft_cap;           /* 0 = off */
    int n_rows, o_width;      /* floats of o in use: a multiple of 16 except for plain rows */
};

/* P V: o[r][d] += sum over the visible keys t, ascending, of p[r][t] * v[t][d]. Values of invisible
 * keys have no effect, even NaN. Packed values are processed in units of 16 lanes: o has room for
 * v_head_size rounded up to 16, and its floats from v_head_size on are undefined. */
struct qr_attn_pv_args {
    const void *p;    /* [n_rows][64] f32, or bf16 for the *_native kernels */
    const void *v[4]; /* column c: V of its 16 tokens; may be NULL where no row sees one of them */
    size_t v_stride;
    float *o;                /* [n_rows][o_stride] */
    const uint64_t *visible; /* [n_rows] */
    size_t o_stride;         /* floats */
    int n_rows, v_head_size;
    /* data that the next kernel call reads, prefetched during this one, or NULL; next_l2: into L2
     * only, where the CPU prefetches from there itself */
    const void *next;
    bool next_l2;
    /* int4: as for K; may be NULL where no row sees a token of the column */
    const uint16_t *v_scale[4];
    size_t v_scale_stride;
};

/* Merges the state of the next span (part) into that of the spans before it (acc), row by row:
 *   m = max(acc_m, part_m), l = fma(part_l, 2^(part_m - m), acc_l * 2^(acc_m - m)), o likewise
 * A part with l = 0 saw no key and changes nothing; an acc with l = 0 becomes a copy. */
struct qr_attn_merge_args {
    float *acc_m, *acc_l; /* [n_rows] */
    float *acc_l_exact;   /* [n_rows], or NULL */
    float *acc_o;         /* [n_rows][stride] */
    const float *part_m, *part_l, *part_l_exact, *part_o;
    size_t stride;     /* floats */
    int n_rows, width; /* floats of o in use */
};

/* Converts cells of fp8 or int8 codes to bf16 pairs, exactly. A cell has 64 bytes: 16 elements
 * wide, 4 deep; int8 as [16 wide][4 deep]. Cell i of step s is at src + s * src_stride + 64 * i.
 * Its first two deep elements fill the 32 uint16_t at dst + 2 * s * dst_stride + 32 * i, the other
 * two those one dst_stride later. */
struct qr_attn_unpack_args {
    const uint8_t *src;
    uint16_t *dst;
    size_t src_stride; /* bytes */
    size_t dst_stride; /* uint16_t */
    int n_steps, n_cells;
};

/* Dequantizes 16 tokens of int4, a column, to bf16 pairs, exactly. K (v == 0): pairs of d's,
 * dst[d / 2 * dst_stride + token * 2 + d % 2]. V: pairs of tokens, dst[token / 2 * dst_stride +
 * d * 2 + token % 2]. */
struct qr_attn_unpack_int4_args {
    const uint8_t *src;
    const uint16_t *scale; /* as in struct qr_attn_qk_args */
    uint16_t *dst;
    size_t src_stride, scale_stride; /* bytes */
    size_t dst_stride;               /* uint16_t */
    int n_values, v;
};

/* Transposes K of n_keys adjacent tokens into V, both in the layout of kv/layout.h, for latent
 * (MLA) groups, where the values are the first elements of the keys. */
struct qr_attn_transpose_args {
    const void *src;               /* [n_values / step][n_keys][step], step 2 for bf16 and else 1 */
    void *dst;                     /* [n_keys / step][n_values][step] */
    size_t src_stride, dst_stride; /* bytes from one step to the next */
    int n_keys;                    /* a multiple of 16 */
    int n_values;                  /* a multiple of 8 */
};

#define QR_KERNELS_ATTN(X)                                                                         \
    X(void, attn_qk_f32, (const struct qr_attn_qk_args *a))                                        \
    X(void, attn_qk_f16, (const struct qr_attn_qk_args *a))                                        \
    X(void, attn_qk_bf16, (const struct qr_attn_qk_args *a))                                       \
    X(void, attn_qk_bf16_native, (const struct qr_attn_qk_args *a))                                \
    X(void, attn_softmax, (const struct qr_attn_softmax_args *a))                                  \
    X(void, attn_pv_f32, (const struct qr_attn_pv_args *a))                                        \
    X(void, attn_pv_f16, (const struct qr_attn_pv_args *a))                                        \
    X(void, attn_pv_bf16, (const struct qr_attn_pv_args *a))                                       \
    X(void, attn_pv_bf16_native, (const struct qr_attn_pv_args *a))                                \
    X(void, attn_qk_fp8_e4m3, (const struct qr_attn_qk_args *a))                                   \
    X(void, attn_qk_fp8_e5m2, (const struct qr_attn_qk_args *a))                                   \
    X(void, attn_qk_int8, (const struct qr_attn_qk_args *a))                                       \
    X(void, attn_pv_fp8_e4m3, (const struct qr_attn_pv_args *a))                                   \
    X(void, attn_pv_fp8_e5m2, (const struct qr_attn_pv_args *a))                                   \
    X(void, attn_pv_int8, (const struct qr_attn_pv_args *a))                                       \
    X(void, attn_merge, (const struct qr_attn_merge_args *a))                                      \
    X(void, attn_unpack_fp8_e4m3, (const struct qr_attn_unpack_args *a))                           \
    X(void, attn_unpack_fp8_e5m2, (const struct qr_attn_unpack_args *a))                           \
    X(void, attn_unpack_int8, (const struct qr_attn_unpack_args *a))                               \
    X(void, attn_quantize_q_int4, (uint8_t * dst, const float *src, size_t n))                     \
    X(void, attn_qk_int4, (const struct qr_attn_qk_args *a))                                       \
    X(void, attn_pv_int4, (const struct qr_attn_pv_args *a))                                       \
    X(void, attn_unpack_int4, (const struct qr_attn_unpack_int4_args *a))                          \
    X(void, attn_transpose_f32, (const struct qr_attn_transpose_args *a))                          \
    X(void, attn_transpose_f16, (const struct qr_attn_transpose_args *a))                          \
    X(void, attn_transpose_bf16, (const struct qr_attn_transpose_args *a))

#endif
