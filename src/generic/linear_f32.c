/* SPDX-License-Identifier: Apache-2.0 */
/* linear_f32.c - f32 activations times any weight type, bf16 times bf16, and weights rounded to
 * bf16, in plain C. */
#include "base/half.h"
#include "generic/fma.h"
#include "generic/linear_unpack.h"
#include "kernels/kernels.h"

enum {
    CHUNK_M = 32,                         /* activation rows with accumulators in memory */
    CHUNK_W = QR_GROUP_K * QR_PANEL_ROWS, /* f32 weights at a time: [256][16] or [64][64] */
};

/* Converts k0 .. k0 + kn - 1 of a panel to f32 w[kn][rows of a panel]. */
typedef void dequantize_fn(const uint8_t *panel, size_t k0, size_t kn, float *w);

/* acc[r] = fma(x[order[k]], w[k][r], acc[r]) for k ascending; order NULL: x[k0 + k] */
static void multiply_row(const float *x, const uint32_t *order, size_t k0, const float *w,
                         size_t kn, size_t rows, float *acc)
{
    for (size_t k = 0; k < kn; k++)
        for (size_t r = 0; r < rows; r++)
            acc[r] = qr_fmaf(x[order ? order[k0 + k] : k0 + k], w[k * rows + r], acc[r]);
}

/* Denormals count as zero (N3). */
static inline float flush(float x)
{
    const uint32_t bits = qr_f32_to_bits(x);
    return qr_bits_to_f32(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* The same for a bf16 row, the odd element of each pair first (N3). kn is even. */
static void multiply_row_bf16(const uint16_t *x, const float *w, size_t kn, size_t rows, float *acc)
{
    for (size_t k = 0; k < kn; k += 2)
        for (int odd = 1; odd >= 0; odd--) {
            const float xk = flush(qr_bf16_to_f32(x[k + (size_t)odd]));
            const float *wk = w + (k + (size_t)odd) * rows;
            for (size_t r = 0; r < rows; r++)
                acc[r] = flush(qr_fmaf(xk, flush(wk[r]), acc[r]));
        }
}

static void store_row(const struct qr_linear_kernel_args *a, size_t i, size_t j0, const float *acc,
                      size_t n)
{
    float *out = a->out + i * a->out_stride + j0;
    for (size_t r = 0; r < n; r++)
        out[r] = a->bias ? acc[r] + a->bias[j0 + r] : acc[r];
}

/* All rows and panels, k in chunks. Accumulators are in memory, so each weight is converted once
 * per CHUNK_M rows. */
static void run(const struct qr_linear_kernel_args *a, size_t rows, bool bf16,
                dequantize_fn *dequantize)
{
    float w[CHUNK_W], acc[CHUNK_M * QR_FLOAT_PANEL_ROWS];
    const size_t k_step = CHUNK_W / rows, k_end = bf16 ? a->k + a->k % 2 : a->k;
    for (size_t j0 = 0; j0 < a->n; j0 += rows) {
        const uint8_t *panel = (const uint8_t *)a->w + j0 / rows * a->panel_bytes;
        const size_t n = a->n - j0 < rows ? a->n - j0 : rows;
        for (size_t i0 = 0; i0 < a->m; i0 += CHUNK_M) {
            const size_t m = a->m - i0 < CHUNK_M ? a->m - i0 : CHUNK_M;
            memset(acc, 0, sizeof acc);
            for (size_t k0 = 0; k0 < k_end; k0 += k_step) {
                const size_t kn = k_end - k0 < k_step ? k_end - k0 : k_step;
                dequantize(panel, k0, kn, w);
                for (size_t i = 0; i < m; i++)
                    if (bf16)
                        multiply_row_bf16(a->x_bf16 + (i0 + i) * a->x_bf16_stride + k0, w, kn, rows,
                                          acc + i * rows);
                    else
                        multiply_row(a->x + (i0 + i) * a->x_stride, a->order, k0, w, kn, rows,
                                     acc + i * rows);
            }
            for (size_t i = 0; i < m; i++)
                store_row(a, i0 + i, j0, acc + i * rows, n);
        }
    }
}

enum { F = QR_FLOAT_PANEL_ROWS };

static void dequantize_f32(const uint8_t *panel, size_t k0, size_t kn, float *w)
{
    memcpy(w, panel + k0 * F * sizeof *w, kn * F * sizeof *w);
}

static void dequantize_f16(const uint8_t *panel, size_t k0, size_t kn, float *w)
{
    for (size_t i = 0; i < kn * F; i++) {
        uint16_t h;
        memcpy(&h, panel + (k0 * F + i) * sizeof h, sizeof h);
        w[i] = qr_f16_to_f32(h);
    }
}

static void dequantize_bf16(const uint8_t *panel, size_t k0, size_t kn, float *w)
{
    for (size_t k = 0; k < kn; k++)
        for (size_t r = 0; r < F; r++) {
            uint16_t h;
            memcpy(&h, panel + (((k0 + k) / 2 * F + r) * 2 + (k0 + k) % 2) * sizeof h, sizeof h);
            w[k * F + r] = qr_bf16_to_f32(h);
        }
}

/* Code `code` of a panel as a number without scale. */
static float code_value(struct qr_panel_format f, int code)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    return f.lut == QR_LUT_E4M3  ? qr_e4m3_to_f32((uint8_t)code)
           : f.lut == QR_LUT_NF4 ? nf4[code]
                                 : (float)code;
}

/* k0 is a multiple of QR_GROUP_K. The products are exact unless scales are f32; the difference is
 * the only rounding then. */
static void dequantize_quant(struct qr_panel_format f, const uint8_t *panel, size_t k0, size_t kn,
                             float *w)
{
    struct generic_group g;
    const size_t sub = qr_panel_sub16(f) ? 16 : 32;
    qr_generic_unpack(f, panel + k0 / QR_GROUP_K * qr_panel_group_bytes(f, 8), kn / QR_BLOCK_K, &g);
    for (size_t k = 0; k < kn; k++)
        for (size_t r = 0; r < QR_PANEL_ROWS; r++) {
            const float v = g.scale[k / sub][r] * code_value(f, g.w[k][r]);
            w[k * QR_PANEL_ROWS + r] = qr_panel_has_min(f) ? v - g.min[k / sub][r] : v;
        }
}

void qr_linear_f32_f32_generic(const struct qr_linear_kernel_args *a)
{
    run(a, F, false, dequantize_f32);
}
void qr_linear_f32_f16_generic(const struct qr_linear_kernel_args *a)
{
    run(a, F, false, dequantize_f16);
}
void qr_linear_f32_bf16_generic(const struct qr_linear_kernel_args *a)
{
    run(a, F, false, dequantize_bf16);
}
void qr_linear_native_bf16_generic(const struct qr_linear_kernel_args *a)
{
    run(a, F, true, dequantize_bf16);
}

/* Rounds a panel of `rows` rows to bf16, in the first columns of the bf16 panel at `out`. */
static void unpack_bf16(uint16_t *out, const uint8_t *panel, size_t k, size_t rows,
                        dequantize_fn *dequantize)
{
    float w[CHUNK_W];
    const size_t k_step = CHUNK_W / rows;
    for (size_t k0 = 0; k0 < k; k0 += k_step) {
        const size_t kn = k - k0 < k_step ? k - k0 : k_step;
        dequantize(panel, k0, kn, w);
        for (size_t i = k0; i < k0 + kn; i++)
            for (size_t r = 0; r < rows; r++)
                out[(i / 2 * F + r) * 2 + i % 2] = qr_f32_to_bf16(flush(w[(i - k0) * rows + r]));
    }
    for (size_t r = 0; k % 2 && r < rows; r++)
        out[(k / 2 * F + r) * 2 + 1] = 0;
}

void qr_unpack_bf16_f16_generic(uint16_t *out, const uint8_t *panel, size_t k)
{
    unpack_bf16(out, panel, k, F, dequantize_f16);
}

#define X(name, NAME, ...)                                                                         \
    static void dequantize_##name(const uint8_t *panel, size_t k0, size_t kn, float *w)            \
    {                                                                                              \
        dequantize_quant((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), panel, k0, kn, w);  \
    }                                                                                              \
    void qr_linear_f32_##name##_generic(const struct qr_linear_kernel_args *a)                     \
    {                                                                                              \
        run(a, QR_PANEL_ROWS, false, dequantize_##name);                                           \
    }                                                                                              \
    void qr_unpack_bf16_##name##_generic(uint16_t *out, const uint8_t *panel, size_t k)            \
    {                                                                                              \
        unpack_bf16(out, panel, k, QR_PANEL_ROWS, dequantize_##name);                              \
    }
QR_QUANT_TYPES(X)
#undef X
