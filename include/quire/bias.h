/* SPDX-License-Identifier: Apache-2.0 */
/** Dense attention biases, ALiBi slopes, and the relative position bias table of a configuration.
 *
 *  The attention kernels represent masks as key ranges and need none of the dense biases: those are
 *  for tests and for programs that need a mask as data. In a dense bias, row i of n_q is the query
 *  at position(i) = n_k - n_q + i (negative: before the first key), column j is the key at position
 *  j. */
#ifndef QUIRE_BIAS_H
#define QUIRE_BIAS_H
#include <quire/kv_cache.h>
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Writes a sliding-window mask: out[i * ld + j] = 0 where -left <= j - position(i) <= right, else
 *  -inf. left or right -1 = unbounded; a causal window of W keys is left = W - 1, right = 0.
 *  ld >= n_k.
 *  QUIRE_E_INVALID_ARG out is NULL, ld is too small, left or right is below -1; out is unchanged
 *  then. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_sliding_window_bias(size_t n_q, size_t n_k,
                                                                  int64_t left, int64_t right,
                                                                  float *out, size_t ld,
                                                                  struct quire_error *err);

/** Writes an ALiBi bias: out[h * head_stride + i * ld + j] = slopes[h] * (j - position(i)), or -inf
 *  where causal and j > position(i). head_stride 0 = n_q * ld.
 *  QUIRE_E_INVALID_ARG as above, slopes is NULL, head_stride is too small. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_alibi_bias(const float *slopes, size_t n_heads,
                                                         size_t n_q, size_t n_k, bool causal,
                                                         float *out, size_t ld, size_t head_stride,
                                                         struct quire_error *err);

/** The same masks and biases in a dtype of the caller's choice: the f32 values, rounded to nearest
 *  even. An ALiBi bias beyond 65504 becomes infinite in f16.
 *  dtype  f32, bf16 or f16
 *  out    elements of dtype, at any address; strides count elements
 *  Errors as above, and QUIRE_E_INVALID_ARG another dtype. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_sliding_window_bias_typed(size_t n_q, size_t n_k,
                                                                        int64_t left, int64_t right,
                                                                        enum quire_kv_dtype dtype,
                                                                        void *out, size_t ld,
                                                                        struct quire_error *err);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_alibi_bias_typed(const float *slopes, size_t n_heads,
                                                               size_t n_q, size_t n_k, bool causal,
                                                               enum quire_kv_dtype dtype, void *out,
                                                               size_t ld, size_t head_stride,
                                                               struct quire_error *err);

/** Computes the standard ALiBi slopes of n_heads heads: with n the largest power of two <= n_heads,
 *  slope h < n is 2^(-8 (h + 1) / n); the others are every other slope of 2n heads,
 *  2^(-4 (2 (h - n) + 1) / n).
 *  slopes  [n_heads] written
 *  QUIRE_E_INVALID_ARG slopes is NULL or n_heads is 0. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_alibi_slopes(uint32_t n_heads, float *slopes,
                                                           struct quire_error *err);

/** Expands a table of T5 buckets to the relative_bias of a configuration:
 *  out[h][range + d] = table[bucket(d)][h] for every distance d = kpos - qpos in -range .. range.
 *
 *      n = n_buckets / 2 if bidirectional, else n_buckets
 *      base = n if bidirectional and d > 0, else 0
 *      a = |d| if bidirectional, else max(-d, 0)
 *      exact = n / 2
 *      bucket(d) = base + a                            if a < exact
 *                = base + min(n - 1, exact + floor(log(a / exact) / log(max_distance / exact)
 *                                                  * (n - exact)))       otherwise
 *
 *  computed in integers and doubles. Buckets are constant from max_distance on, so with
 *  range >= max_distance the bias is correct for any distance.
 *  table  [n_buckets][n_heads], as checkpoints store it
 *  out    [n_heads][2 * range + 1] written; must not overlap table
 *  QUIRE_E_INVALID_ARG a NULL pointer, n_heads 0, n_buckets below 2 (4 if bidirectional),
 *  max_distance not above exact, range above 2^20, sizes that overflow; out is unchanged then.
 *  Source: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 *  Transformer", section 2.1. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_relative_bias(const float *table, uint32_t n_buckets,
                                                            uint32_t n_heads, bool bidirectional,
                                                            uint32_t max_distance, uint32_t range,
                                                            float *out, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
