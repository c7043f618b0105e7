/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512_amx: GEMM on tiles; other
 * shapes by the kernels of avx512_bf16. */
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_amx
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "avx512/amx/linear_q8_tiles.h"

typedef void linear_q8_fn(const struct qr_linear_kernel_args *a);

/* Rows [i0, i0 + m) times pairs of panels; returns the number of these panels. A function of its
 * own, so that few rows need no stack for its buffers. */
typedef size_t linear_q8_tiles_fn(const struct qr_linear_kernel_args *a, size_t i0, size_t m);

QR_INLINE size_t linear_q8_pairs(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                 size_t i0, size_t m)
{
    const size_t panels = (a->n + QR_PANEL_ROWS - 1) / QR_PANEL_ROWS;
    size_t j = 0;
    for (; j + LINEAR_Q8_PANELS <= panels; j += LINEAR_Q8_PANELS)
        linear_q8_gemm_amx(f, a, i0, m, j * QR_PANEL_ROWS);
    return j;
}

/* The rows and panels that tiles do not take, if any. */
static void linear_q8_rest(const struct qr_linear_kernel_args *a, size_t i0, size_t m, size_t panel,
                           linear_q8_fn *rest)
{
    struct qr_linear_kernel_args part = *a;
    const size_t j0 = panel * QR_PANEL_ROWS;
    if (j0 >= a->n)
        return;
    part.w = (const uint8_t *)a->w + panel * a->panel_bytes;
    part.bias = a->bias ? a->bias + j0 : NULL;
    part.out = a->out + i0 * a->out_stride + j0;
    part.m = m;
    part.n = a->n - j0;
    part.q = a->q + i0 * a->q_stride;
    part.half_sums = a->half_sums + 2 * i0 * a->q_stride;
    rest(&part);
}

QR_INLINE void linear_q8_run(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                             linear_q8_tiles_fn *tiles, linear_q8_fn *rest)
{
    for (size_t i0 = 0, m; i0 < a->m; i0 += m) {
        m = linear_q8_chunk_rows(a->m - i0);
        linear_q8_rest(a, i0, m, linear_q8_use_amx(f, m) ? tiles(a, i0, m) : 0, rest);
    }
}

#define X(name, NAME, ...)                                                                         \
    static __attribute__((noinline))                                                               \
    size_t linear_q8_tiles_##name(const struct qr_linear_kernel_args *a, size_t i0, size_t m)      \
    {                                                                                              \
        return linear_q8_pairs((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a, i0, m);    \
    }                                                                                              \
    void QR_KERNEL(linear_q8_##name)(const struct qr_linear_kernel_args *a)                        \
    {                                                                                              \
        linear_q8_run((struct qr_panel_format)QR_PANEL_FORMAT(__VA_ARGS__), a,                     \
                      linear_q8_tiles_##name, qr_linear_q8_##name##_avx512_bf16);                  \
    }
QR_INTEGER_TYPES(X)
#undef X
