/* SPDX-License-Identifier: Apache-2.0 */
/* stream_config.h - options of the residual stream: several streams, and what is added to them
 * besides the outputs of sublayers. */
#ifndef QR_MODEL_ARCH_STREAM_CONFIG_H
#define QR_MODEL_ARCH_STREAM_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

/* Per-layer embeddings (Gemma 3n, 4): every token has a vector of `dim` elements for each layer,
 * e = (table[token] sqrt(dim) + norm(project(x0) / sqrt(hidden))) / sqrt(2), x0 the input of the
 * first layer. A layer ends with x += norm(out(act(gate(x)) * e)). */
struct qr_ple_config {
    uint32_t dim;        /* 0: none */
    uint32_t vocab_size; /* rows of the table; tokens beyond it use row 0 */
};

/* AltUp (arXiv 2301.13310): several residual streams of hidden_size. A layer predicts all streams
 * by a mixture of them, runs on the active one and corrects all by what it changed. The other
 * streams start as projections of the first; the mean of all, after another projection, enters the
 * final norm. */
struct qr_altup_config {
    uint32_t n_streams; /* 0: there is one residual stream */
    uint32_t active;
    float coef_clip;    /* bounds the weights of the correction; 0 = none */
    bool correct_scale; /* per-layer embeddings read the corrected stream times ALTUP_SCALE */
};

/* Hyper-connections (arXiv 2409.19606): several residual streams of hidden_size, which start as
 * copies of the embedding. A sublayer reads a mixture of them, and its output is added to each with
 * a weight of its own; a mixture without a sublayer enters the final norm. */
enum qr_hyper_kind {
    QR_HYPER_NONE, /* there is one residual stream */
    /* n = norm of each stream; mixture: mean_k of sigmoid(up(silu(down(n) / streams)))_k * n_k;
     * weights of the output: 2 sigmoid(inject(n) / streams) */
    QR_HYPER_GATED,
    /* m = fn(all streams / their rms) * scale + base. Mixture: sum_k (sigmoid(m_k) + eps) x_k;
     * weights of the output: 2 sigmoid(m). The streams themselves are mixed by a matrix that is
     * made doubly stochastic from softmax(m) + eps: columns, then (iterations - 1) times rows and
     * columns are divided by their sum + eps (arXiv 2512.24880) */
    QR_HYPER_SINKHORN,
};

struct qr_hyper_config {
    enum qr_hyper_kind kind;
    uint32_t n_streams;
    uint32_t rank;       /* GATED: of the gates of the mixture */
    uint32_t iterations; /* SINKHORN */
    float eps;           /* SINKHORN */
};

/* Embeddings of n-grams, added to the streams of hyper-connections before a layer (Qwen4-Exp). The
 * n tokens up to the current one are hashed, for n from 2 to `size`; tokens up to the last
 * `boundary` before the current one, and those before the sequence, count as `boundary`. Each hash
 * has several heads: rows hash % sizes[head] of the layer's table, one head behind the other, whose
 * dim / heads elements are concatenated to e.
 *   gate_k = norm_key(key(e))_k . norm_query(x)_k / sqrt(hidden), for stream k
 *   v_k = sigmoid(sign(gate_k) sqrt(max(|gate_k|, 1e-6))) value(e)
 *   x += v + silu(conv(norm_conv(v))), a causal convolution with dilation `size` */
struct qr_ngram_config {
    uint32_t size; /* 0: none */
    uint32_t heads, dim, taps;
    uint32_t n_parts; /* tensors of one table, each with as many rows */
    uint32_t n_layers;
    int32_t boundary;
    /* of the layers in order, owned by the config */
    const uint32_t *sizes;       /* [n_layers][(size - 1) * heads] */
    const uint64_t *multipliers; /* [n_layers][size] of tokens, the current one's first */
};

#endif
