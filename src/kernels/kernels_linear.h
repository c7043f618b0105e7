/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_linear.h - layout of packed weight panels, and the kernels that multiply them.
 *
 * A weight matrix [n outputs][k] is divided into panels of consecutive outputs ("rows" of the
 * weight). A panel is contiguous, k ascending, 64-byte aligned; missing rows of the last panel are
 * zero. Every lane of a vector is one row, so an output is one chain over k (docs/numerics.md N1)
 * at every level.
 *
 *   f32, f16   64 rows  [k][64]
 *   bf16       64 rows  [k/2][64][2]; an odd k is completed by a zero
 *   quantized  16 rows  groups of 256 k; the last group may be shorter, a multiple of 32
 *
 * A group is a header of scales, then one body per block of 32 k. With nb blocks in the group:
 *
 *   scales   header                                              bytes
 *   D        f16 d [nb][16]                                      32 nb rounded up to 64
 *   D64      f16 d [nb/2][16]                                    16 nb rounded up to 64
 *   D128     f16 d [nb/4][16]                                     8 nb rounded up to 64
 *   D256     f16 d [1][16]                                       64
 *   DM       { f16 d [16], f16 m [16] } [nb]                     64 nb
 *   E8M0     u8 exponent [nb][16]                                16 nb rounded up to 64
 *   E4M3     u8 exponent | mantissa [2 nb][16], half of the      32 nb rounded up to 64
 *            value is the scale
 *   K8_MIN   f16 d [16], f16 dmin [16], u8 scale [8][16], u8 min [8][16]    320
 *   K16_MIN  f16 d [16], f16 dmin [16], u8 scale | min << 4 [16][16]        320
 *   K8       f16 d [16], 32 zero bytes, s8 scale [8][16]                    192
 *   K8_HALF  as K8, but the scale is d * scale / 2                          192
 *   K16      f16 d [16], 32 zero bytes, s8 scale [16][16]                   320
 *   N8       f16 d [16], u8 n[2i] | n[2i+1] << 4 [4][16]; the               128
 *            scale is d * (2 n + 1) / 8
 *   N8_DELTA as N8, but the scale is d * (2 (n & 7) + 1), and               128
 *            the minimum scale * (n & 8 ? 9 : 7) / 8
 *   N16      as N8 with [8][16]                                             192
 *   N16_DELTA as N16, then u32 [16]: bit j is set where the weights         256
 *            8j .. 8j+7 are 8 (code - 1) - 1, else 8 (code - 1) + 1
 *   F32_32, F32_64, F32_128
 *            f32 d [nb/p][16], one for p = 1, 2 or 4 blocks               64 nb/p
 *   Z_32, Z_64, Z_128
 *            f32 d [nb/p][16], s8 zero point z [nb/p][16]; the            80 nb/p rounded up to 64
 *            minimum is d * z
 *
 * A body holds unsigned codes in cache lines of 64 bytes. Step s is the four values k = 4s .. 4s+3
 * of all rows, 64 bytes [16 rows][4 k]:
 *
 *   8 bits          8 lines: line s is step s
 *   low 4 bits      4 lines: line j has step 2j in the low nibbles, step 2j+1 in the high ones
 *   3 bits          3 lines: line j has step 2j in bits 0-2, step 2j+1 in bits 3-5; its bits 6, 7,
 *                   concatenated for j = 0, 1, 2, are a byte: step 6 in bits 0-2, step 7 in 3-5
 *   low 2 bits      2 lines: bits 2f, 2f+1 of line p belong to step 4p+f
 *   low 1 bit       1 line:  bit s of each byte belongs to step s; codes are 0 and 2
 *   then high 1 bit 1 line:  bit s of each byte belongs to step s
 *   or high 2 bits  2 lines: bits 2f, 2f+1 of line p belong to step 4p+f
 *
 * Shifts and masks of whole vectors thus yield [16][4] steps for any vector width, the operands of
 * VPDPBUSD, SDOT and (two steps zipped) SMMLA. An integer weight is code - offset, or lut[code] -
 * offset. Q8_0 is stored as s8 + 128 because VPDPBUSD takes unsigned weights; other instructions
 * undo it with one xor. Offsets are 0 or powers of two, so that the offset times the sum of the
 * activations is one shift. Weights of E4M3 and NF4 are floats: E4M3 bits, and numbers of an f32
 * codebook. */
#ifndef QR_KERNELS_KERNELS_LINEAR_H
#define QR_KERNELS_KERNELS_LINEAR_H
#include "base/prefetch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    QR_PANEL_ROWS = 16,       /* of quantized panels */
    QR_FLOAT_PANEL_ROWS = 64, /* of f32, f16 and bf16 panels */
    QR_GROUP_K = 256,
    QR_BLOCK_K = 32,
    QR_SUM_TABLE_BYTES = 448, /* largest tables of sums of a block of activations */
    QR_DELTA_SUMS = 8,        /* int32 values of a block of activations for N16_DELTA */
};

enum qr_scale_kind {
    QR_SCALE_D,
    QR_SCALE_D64,
    QR_SCALE_D128,
    QR_SCALE_D256,
    QR_SCALE_DM,
    QR_SCALE_E8M0,
    QR_SCALE_E4M3,
    QR_SCALE_K8_MIN,
    QR_SCALE_K16_MIN,
    QR_SCALE_K8,
    QR_SCALE_K8_HALF,
    QR_SCALE_K16,
    QR_SCALE_N8,
    QR_SCALE_N8_DELTA,
    QR_SCALE_N16,
    QR_SCALE_N16_DELTA,
    QR_SCALE_F32_32,
    QR_SCALE_F32_64,
    QR_SCALE_F32_128,
    QR_SCALE_Z_32,
    QR_SCALE_Z_64,
    QR_SCALE_Z_128,
};

enum qr_code_lut {
    QR_LUT_NONE,
    QR_LUT_IQ4,
    QR_LUT_MXFP4,
    QR_LUT_IQ3_XXS,
    QR_LUT_IQ3_S,
    QR_LUT_IQ2,
    QR_LUT_E4M3, /* values of floating-point weights, see qr_panel_is_float */
    QR_LUT_NF4,
};

/* Layout of a quantized type in a panel. */
struct qr_panel_format {
    uint8_t low_bits;  /* 8, 4, 3, 2 or 1 */
    uint8_t high_bits; /* 0, 1 or 2 */
    uint8_t offset;    /* of codes, or of the bytes of the table */
    uint8_t scales;    /* enum qr_scale_kind */
    uint8_t lut;       /* enum qr_code_lut */
};

/* X(kernel suffix, type name, low_bits, high_bits, offset, scales, lut): types of integer weights,
 * which have linear_f32_ and linear_q8_ kernels. */
#define QR_INTEGER_TYPES(X)                                                                        \
    X(q8_0, Q8_0, 8, 0, 128, D, NONE)                                                              \
    X(q4_0, Q4_0, 4, 0, 8, D, NONE)                                                                \
    X(q4_1, Q4_1, 4, 0, 0, DM, NONE)                                                               \
    X(q5_0, Q5_0, 4, 1, 16, D, NONE)                                                               \
    X(q5_1, Q5_1, 4, 1, 0, DM, NONE)                                                               \
    X(q2_k, Q2_K, 2, 0, 0, K16_MIN, NONE)                                                          \
    X(q3_k, Q3_K, 3, 0, 4, K16, NONE)                                                              \
    X(q4_k, Q4_K, 4, 0, 0, K8_MIN, NONE)                                                           \
    X(q5_k, Q5_K, 4, 1, 0, K8_MIN, NONE)                                                           \
    X(q6_k, Q6_K, 4, 2, 32, K16, NONE)                                                             \
    X(iq3_xxs, IQ3_XXS, 4, 0, 32, K8_HALF, IQ3_XXS)                                                \
    X(iq3_s, IQ3_S, 4, 0, 16, K8, IQ3_S)                                                           \
    X(iq4_nl, IQ4_NL, 4, 0, 128, D, IQ4)                                                           \
    X(iq4_xs, IQ4_XS, 4, 0, 128, K8, IQ4)                                                          \
    X(mxfp4, MXFP4, 4, 0, 16, E8M0, MXFP4)                                                         \
    X(nvfp4, NVFP4, 4, 0, 16, E4M3, MXFP4)                                                         \
    X(iq1_s, IQ1_S, 2, 0, 0, N8_DELTA, NONE)                                                       \
    X(iq1_m, IQ1_M, 2, 0, 16, N16_DELTA, NONE)                                                     \
    X(iq2_xxs, IQ2_XXS, 3, 0, 64, N8, IQ2)                                                         \
    X(iq2_xs, IQ2_XS, 3, 0, 64, N16, IQ2)                                                          \
    X(iq2_s, IQ2_S, 3, 0, 64, N16, IQ2)                                                            \
    X(tq1_0, TQ1_0, 2, 0, 1, D256, NONE)                                                           \
    X(tq2_0, TQ2_0, 2, 0, 1, D256, NONE)                                                           \
    X(q1_0, Q1_0, 1, 0, 1, D128, NONE)                                                             \
    X(q2_0, Q2_0, 2, 0, 1, D64, NONE)                                                              \
    X(int4_32, INT4_32, 4, 0, 0, Z_32, NONE)                                                       \
    X(int4_64, INT4_64, 4, 0, 0, Z_64, NONE)                                                       \
    X(int4_128, INT4_128, 4, 0, 0, Z_128, NONE)                                                    \
    X(int8_32, INT8_32, 8, 0, 128, Z_32, NONE)                                                     \
    X(int8_128, INT8_128, 8, 0, 128, Z_128, NONE)

/* The same for types of floating-point weights, which have linear_f32_ kernels only. */
#define QR_FLOAT_CODE_TYPES(X)                                                                     \
    X(f8_e4m3_32, F8_E4M3_32, 8, 0, 0, F32_32, E4M3)                                               \
    X(f8_e4m3_128, F8_E4M3_128, 8, 0, 0, F32_128, E4M3)                                            \
    X(nf4_64, NF4_64, 4, 0, 0, F32_64, NF4)

/* All types that are packed in groups. */
#define QR_QUANT_TYPES(X) QR_INTEGER_TYPES(X) QR_FLOAT_CODE_TYPES(X)

#define QR_PANEL_FORMAT(low, high, offset, scales, lut)                                            \
    {                                                                                              \
        low, high, offset, QR_SCALE_##scales, QR_LUT_##lut                                         \
    }

/* Values of the 4-bit and 3-bit codebooks, plus their offset. */
#define QR_IQ4_BYTES     1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241
#define QR_MXFP4_BYTES   16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4
/* Eight magnitudes, then their negatives; IQ3_XXS: half of the format, see K8_HALF. */
#define QR_IQ3_XXS_BYTES 34, 38, 42, 46, 50, 54, 58, 63, 30, 26, 22, 18, 14, 10, 6, 1
#define QR_IQ3_S_BYTES   17, 19, 21, 23, 25, 27, 29, 31, 15, 13, 11, 9, 7, 5, 3, 1
/* Three magnitudes, then their negatives; codes 3 and 7 do not occur. */
#define QR_IQ2_BYTES     72, 89, 107, 64, 56, 39, 21, 64
/* Quantiles of the normal distribution, scaled to [-1, 1]: NormalFloat (arXiv 2305.14314). */
#define QR_NF4_VALUES                                                                              \
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,                      \
        -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,                 \
        0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,    \
        0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f

/* Blocks of 32 values that share one f16 scale; 0: the scales are not plain f16 numbers. */
static inline size_t qr_panel_blocks_per_d(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_D      ? 1
           : f.scales == QR_SCALE_D64  ? 2
           : f.scales == QR_SCALE_D128 ? 4
           : f.scales == QR_SCALE_D256 ? 8
                                       : 0;
}

/* Blocks of 32 values that share one f32 scale; 0: the scales are no f32 numbers. */
static inline size_t qr_panel_blocks_per_f32(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_F32_32 || f.scales == QR_SCALE_Z_32     ? 1
           : f.scales == QR_SCALE_F32_64 || f.scales == QR_SCALE_Z_64   ? 2
           : f.scales == QR_SCALE_F32_128 || f.scales == QR_SCALE_Z_128 ? 4
                                                                        : 0;
}

/* Whether each f32 scale has a zero point. */
static inline bool qr_panel_has_zero(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_Z_32 || f.scales == QR_SCALE_Z_64 || f.scales == QR_SCALE_Z_128;
}

/* Whether the weights are floating-point numbers: a code has no integer. */
static inline bool qr_panel_is_float(struct qr_panel_format f)
{
    return f.lut == QR_LUT_E4M3 || f.lut == QR_LUT_NF4;
}

static inline size_t qr_panel_header_bytes(struct qr_panel_format f, size_t n_blocks)
{
    const size_t per_d = qr_panel_blocks_per_d(f);
    if (per_d > 0)
        return (32 * n_blocks / per_d + 63) & ~(size_t)63;
    const size_t per_f32 = qr_panel_blocks_per_f32(f);
    if (per_f32 > 0)
        return ((qr_panel_has_zero(f) ? 80 : 64) * n_blocks / per_f32 + 63) & ~(size_t)63;
    switch (f.scales) {
    case QR_SCALE_E4M3:
        return (32 * n_blocks + 63) & ~(size_t)63;
    case QR_SCALE_DM:
        return 64 * n_blocks;
    case QR_SCALE_E8M0:
        return (16 * n_blocks + 63) & ~(size_t)63;
    case QR_SCALE_N8:
    case QR_SCALE_N8_DELTA:
        return 128;
    case QR_SCALE_K8:
    case QR_SCALE_K8_HALF:
    case QR_SCALE_N16:
        return 192;
    case QR_SCALE_N16_DELTA:
        return 256;
    default:
        return 320;
    }
}

static inline size_t qr_panel_block_bytes(struct qr_panel_format f)
{
    return (size_t)(f.low_bits + f.high_bits) * QR_CACHE_LINE_BYTES;
}

static inline size_t qr_panel_group_bytes(struct qr_panel_format f, size_t n_blocks)
{
    return qr_panel_header_bytes(f, n_blocks) + n_blocks * qr_panel_block_bytes(f);
}

/* Whether each scale covers 16 values instead of 32. */
static inline bool qr_panel_sub16(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_K16 || f.scales == QR_SCALE_K16_MIN || f.scales == QR_SCALE_E4M3 ||
           f.scales == QR_SCALE_N16 || f.scales == QR_SCALE_N16_DELTA;
}

/* Whether the scales are nibbles. */
static inline bool qr_panel_nibble_scales(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_N8 || f.scales == QR_SCALE_N8_DELTA || f.scales == QR_SCALE_N16 ||
           f.scales == QR_SCALE_N16_DELTA;
}

/* Whether a bit per eight values, in the last 64 bytes of the header, is a part of the weights. */
static inline bool qr_panel_has_delta(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_N16_DELTA;
}

/* Lowest bit of the codes. Codes of one bit are 0 and 2: with offset 1, the weights -1 and 1. */
static inline int qr_panel_code_at(struct qr_panel_format f) { return f.low_bits == 1; }

/* Whether the type has minimums besides scales. */
static inline bool qr_panel_has_min(struct qr_panel_format f)
{
    return f.scales == QR_SCALE_DM || f.scales == QR_SCALE_K8_MIN || f.scales == QR_SCALE_K16_MIN ||
           f.scales == QR_SCALE_N8_DELTA || qr_panel_has_zero(f);
}

/* 32 activations quantized to int8, x = d * q, and their sums. */
struct qr_q8_block {
    int8_t q[QR_BLOCK_K]; /* -127 .. 127 */
    float d;
    float d_sum;          /* d * the sum of q, rounded: the factor of minimums per 32 values (N2) */
    int32_t neg_half_sum; /* minus the sum of the first 16 q */
    int32_t neg_sum;      /* minus the sum of all q */
};

/* Software prefetches of each line of weights that are read once. */
enum qr_weight_prefetch {
    QR_WEIGHT_PREFETCH_TWICE, /* into L2 far ahead, and into L1 shortly before its use */
    QR_WEIGHT_PREFETCH_NEAR,  /* into L2, the line before its use */
    QR_WEIGHT_PREFETCH_L1,    /* into L1, as far ahead as the level says */
};

/* out[i * out_stride + j] = dot(x row i, weight row j) + bias[j] for i < m, j < n. Any m, n, k >= 1
 * (quantized: k a multiple of 32, or of 256 for the K types). Writes nothing else. */
struct qr_linear_kernel_args {
    const void *w;      /* first panel */
    size_t panel_bytes; /* from one panel to the next */
    const float *bias;  /* [n] or NULL; added last */
    float *out;
    size_t out_stride; /* floats */
    size_t m, n, k;
    enum qr_weight_prefetch prefetch; /* of light streams: weights read faster than they arrive */
    /* linear_f32_*: f32 rows; linear_native_bf16 at some levels: f32 rows of bf16 values */
    const float *x;
    size_t x_stride; /* floats */
    /* linear_f32_int4_*, linear_f32_int8_*: [k] the element of x that each k multiplies; NULL: k */
    const uint32_t *order;
    /* linear_native_bf16: bf16 rows; an odd k is completed by a zero */
    const uint16_t *x_bf16;
    size_t x_bf16_stride; /* elements */
    /* linear_q8_*: rows of k/32 blocks, and the half_sums, from quantize_act_q8 */
    const struct qr_q8_block *q;
    size_t q_stride;        /* blocks */
    const float *half_sums; /* two per block of q */
    /* linear_q8_q1_0 with m = 1: tables of the blocks of q, or NULL: products */
    const uint8_t *sum_tables;
    const int32_t *delta_sums; /* linear_q8_iq1_m with m = 1: of the blocks of q, or NULL */
};

/* linear_f32_*: weights converted exactly to f32, acc = fma(x, w, acc) (N4).
 * linear_native_bf16: bf16 x bf16 (N3). A table with native_bf16_reads_f32 has a kernel that reads
 * the activations at x, widened to f32 once instead of for each panel, and padded as bf16 rows.
 * linear_q8_*: int8 activations (N2). quantize_act_q8: per 32 values d = amax / 127,
 * q = x * (127 / amax) to nearest even. Blocks with amax < 2^-100 become zeros; a block holding NaN
 * or Inf becomes zeros with d = NaN. half_sums[2 * n_blocks] are d * the sum of 16 q, rounded: the
 * factors of minimums per 16 values (N2), apart from the blocks, whose 48 bytes suit the loads.
 * unpack_bf16_*: the k weights of each row of a panel, converted to f32 and rounded to nearest even
 * bf16, below 2^-126 to zero, in the layout of bf16 panels: 16 rows at out, columns of a panel of
 * 64; of f16 panels all 64 rows, an odd k completed by zeros. */
#define QR_KERNELS_LINEAR(X)                                                                       \
    X(void, quantize_act_q8,                                                                       \
      (struct qr_q8_block * q, float *half_sums, const float *x, size_t n_blocks))                 \
    X(void, linear_f32_f32, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_f32_f16, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_f32_bf16, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_native_bf16, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_q8_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q4_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q4_1, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q5_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q5_1, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q2_k, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q3_k, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q4_k, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q5_k, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q6_k, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_iq3_xxs, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_iq3_s, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_iq4_nl, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_f32_iq4_xs, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_f32_mxfp4, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_nvfp4, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_iq1_s, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_iq1_m, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_iq2_xxs, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_iq2_xs, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_f32_iq2_s, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_tq1_0, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_tq2_0, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_f32_q1_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_q2_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_f32_int4_32, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_int4_64, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_int4_128, (const struct qr_linear_kernel_args *a))                          \
    X(void, linear_f32_int8_32, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_f32_int8_128, (const struct qr_linear_kernel_args *a))                          \
    X(void, linear_f32_f8_e4m3_32, (const struct qr_linear_kernel_args *a))                        \
    X(void, linear_f32_f8_e4m3_128, (const struct qr_linear_kernel_args *a))                       \
    X(void, linear_f32_nf4_64, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_q8_0, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q4_0, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q4_1, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q5_0, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q5_1, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q2_k, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q3_k, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q4_k, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q5_k, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q6_k, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_iq3_xxs, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_iq3_s, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_iq4_nl, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_q8_iq4_xs, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_q8_mxfp4, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_nvfp4, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_iq1_s, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_iq1_m, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_iq2_xxs, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_iq2_xs, (const struct qr_linear_kernel_args *a))                             \
    X(void, linear_q8_iq2_s, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_tq1_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_tq2_0, (const struct qr_linear_kernel_args *a))                              \
    X(void, linear_q8_q1_0, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_q2_0, (const struct qr_linear_kernel_args *a))                               \
    X(void, linear_q8_int4_32, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_int4_64, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_int4_128, (const struct qr_linear_kernel_args *a))                           \
    X(void, linear_q8_int8_32, (const struct qr_linear_kernel_args *a))                            \
    X(void, linear_q8_int8_128, (const struct qr_linear_kernel_args *a))                           \
    X(void, unpack_bf16_f16, (uint16_t * out, const uint8_t *panel, size_t k))                     \
    X(void, unpack_bf16_q8_0, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q4_0, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q4_1, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q5_0, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q5_1, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q2_k, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q3_k, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q4_k, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q5_k, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q6_k, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_iq3_xxs, (uint16_t * out, const uint8_t *panel, size_t k))                 \
    X(void, unpack_bf16_iq3_s, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_iq4_nl, (uint16_t * out, const uint8_t *panel, size_t k))                  \
    X(void, unpack_bf16_iq4_xs, (uint16_t * out, const uint8_t *panel, size_t k))                  \
    X(void, unpack_bf16_mxfp4, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_nvfp4, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_iq1_s, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_iq1_m, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_iq2_xxs, (uint16_t * out, const uint8_t *panel, size_t k))                 \
    X(void, unpack_bf16_iq2_xs, (uint16_t * out, const uint8_t *panel, size_t k))                  \
    X(void, unpack_bf16_iq2_s, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_tq1_0, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_tq2_0, (uint16_t * out, const uint8_t *panel, size_t k))                   \
    X(void, unpack_bf16_q1_0, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_q2_0, (uint16_t * out, const uint8_t *panel, size_t k))                    \
    X(void, unpack_bf16_int4_32, (uint16_t * out, const uint8_t *panel, size_t k))                 \
    X(void, unpack_bf16_int4_64, (uint16_t * out, const uint8_t *panel, size_t k))                 \
    X(void, unpack_bf16_int4_128, (uint16_t * out, const uint8_t *panel, size_t k))                \
    X(void, unpack_bf16_int8_32, (uint16_t * out, const uint8_t *panel, size_t k))                 \
    X(void, unpack_bf16_int8_128, (uint16_t * out, const uint8_t *panel, size_t k))                \
    X(void, unpack_bf16_f8_e4m3_32, (uint16_t * out, const uint8_t *panel, size_t k))              \
    X(void, unpack_bf16_f8_e4m3_128, (uint16_t * out, const uint8_t *panel, size_t k))             \
    X(void, unpack_bf16_nf4_64, (uint16_t * out, const uint8_t *panel, size_t k))

#endif
