/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_ops.h - row-wise kernels of the model layer: norms, activations, RoPE, residual
 * arithmetic.
 *
 * Every kernel processes one row or an explicit range of it, so the bits of a row never depend on
 * other rows. Sums are 16 lane sums (index mod 16) added by one fixed tree, at every level. */
#ifndef QR_KERNELS_KERNELS_OPS_H
#define QR_KERNELS_KERNELS_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QR_LORA_PANEL = 16, QR_LORA_CHAINS = 4 };

/* Elements of a panel of weight rows of length k: the number of elements of each chain, rounded up,
 * times the chains and the rows. */
static inline size_t qr_lora_panel_size(size_t k)
{
    return (k + QR_LORA_CHAINS - 1) / QR_LORA_CHAINS * QR_LORA_CHAINS * QR_LORA_PANEL;
}

/* Operands of `lora`: one of the two products of a low-rank adapter. Row i of the call is row r =
 * rows[i], or first_row + i where rows is NULL. t[j] = dot(x row r, weight row j) for j < n, in
 * four chains of fma over k (k mod 4), added as (0 + 1) + (2 + 3). Then
 *   scales NULL: out row (r - first_row) += t
 *   else:        out row (r - first_row) = t * (scale * scales[r]); n is a multiple of 16
 * With `chain` t[j] is the sum of chain number chain - 1 alone, and out row (r - first_row) = t. */
struct qr_lora_kernel_args {
    /* panels of 16 weight rows, [n / 16 rounded up][k mod 4][k / 4 rounded up][16] f32 or bf16;
     * missing rows are 0, missing elements of a chain unset */
    const void *w;
    bool bf16;
    const float *x; /* row r at x + r * x_stride */
    float *out;
    size_t x_stride, out_stride; /* floats */
    const uint32_t *rows;
    size_t n_rows, first_row;
    const float *scales; /* indexed by row */
    float scale;
    unsigned chain; /* 0: all */
    size_t n, k;
};

#define QR_KERNELS_OPS(X)                                                                          \
    /* out[n] = x[n] * (1 / sqrt(mean(x^2) + eps)) * (w[n] + w_add); w NULL = 1; out may be x */   \
    X(void, rms_norm,                                                                              \
      (float *out, const float *x, const float *w, float w_add, float eps, size_t n))              \
    /* out[n] = (x - mean) / sqrt(var + eps) * (w + w_add) + b; w, b NULL = 1, 0; out may be x */  \
    X(void, layer_norm,                                                                            \
      (float *out, const float *x, const float *w, const float *b, float w_add, float eps,         \
       size_t n))                                                                                  \
    /* gate[n] = silu(gate) * up; up NULL: the activation alone. gelu_*: likewise. */              \
    X(void, silu_mul, (float *gate, const float *up, size_t n))                                    \
    X(void, gelu_tanh_mul, (float *gate, const float *up, size_t n))                               \
    X(void, gelu_erf_mul, (float *gate, const float *up, size_t n))                                \
    /* y[n] = fma(a, x, y) */                                                                      \
    X(void, axpy, (float *y, float a, const float *x, size_t n))                                   \
    /* x[n] *= a */                                                                                \
    X(void, scale, (float *x, float a, size_t n))                                                  \
    /* x[n] += b[n] */                                                                             \
    X(void, add, (float *x, const float *b, size_t n))                                             \
    /* x[n] = cap * tanh(x / cap) */                                                               \
    X(void, soft_cap, (float *x, float cap, size_t n))                                             \
    /* Rotates one head. half != 0: pairs (i, i + n/2); else (2i, 2i+1). c, s: [n/2]; n even. */   \
    X(void, rope, (float *x, const float *c, const float *s, size_t n, int half))                  \
    /* x[n] = -infinity where bit i % 32 of mask[i / 32] is 0; others keep their bits */           \
    X(void, mask_logits, (float *x, const uint32_t *mask, size_t n))                               \
    /* The largest of x[n], n > 0; +infinity if one is NaN. A zero may have either sign. */        \
    X(float, largest, (const float *x, size_t n))                                                  \
    /* Sum of exp((x[n] - max) / temperature) by simd/exp64.h; x <= max may be -infinity */        \
    X(double, exp_sum, (const float *x, size_t n, double max, double temperature))                 \
    X(void, lora, (const struct qr_lora_kernel_args *a))

#endif
