/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_config.h - the part of a model configuration that describes a head of multi-token
 * prediction. */
#ifndef QR_MODEL_ARCH_MTP_CONFIG_H
#define QR_MODEL_ARCH_MTP_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

/* Heads of multi-token prediction, each a model of its own. Row i reads the token at i + 1, e being
 * its embedding, and what the model computed at i, and predicts the token at i + 2. */
enum qr_mtp_kind {
    QR_MTP_NONE, /* the model itself */
    /* One layer behind the model, in its files: x = proj([norm(e); norm(h)]), h being the hidden
     * state of the model after the final norm, or for tokens that it drafted its own. Embedding and
     * output matrix are the model's. */
    QR_MTP_LAYER,
    /* Files of its own (Gemma 4 assistant): x = proj([e; h]), and post(norm(x)) takes the place of
     * h for tokens that it drafted. It computes no keys and values: each layer attends to those of
     * the last layer of the model, of its kind, that has some (kv_source QR_KV_OF_BASE), from
     * position 0 to i. Its own position is i + 1, for RoPE and windows. */
    QR_MTP_SHARED_KV,
    /* Files of its own (EAGLE-3, arXiv 2503.01840): g = proj([f0; f1; ...]), f being the residual
     * stream before some layers of the model, three by default; for tokens that it drafted g is its
     * own behind its last layer. x = g; the first layer is x += attn([norm(e); norm(g)]),
     * x += ffn(norm(x)), others are those of Llama. */
    QR_MTP_FEATURES,
    /* A block drafter, files of its own (DFlash, arXiv 2602.06036): layers of Qwen 3 whose keys and
     * values at i are projections of norm(proj([f0; f1; ...])) in every layer, f being the residual
     * stream before some layers of the model. It drafts in one pass: rows are the last token, the
     * anchor, and mask tokens behind it, each of which predicts the token in its own place; with
     * from_anchor each row predicts the token behind its own place. A Markov head (DSpark) adds
     * MARKOV_OUT MARKOV_IN[t] to a row's logits, t being the token before the one that the row
     * predicts, and sigmoid(CONFIDENCE [norm(x); MARKOV_IN[t]] + bias) is the probability that the
     * model accepts what is drawn from them. A selector (DFlash 2) adds
     * MARKOV_OUT[b] . (MARKOV_IN[t] * SELECT norm(x)) to the select_top largest logits, b being the
     * token of each, and excludes all other tokens. Convolutions (DFlash 2) over the rows of a
     * block are before and behind each sublayer (forward/block_conv.h). */
    QR_MTP_BLOCK,
};

enum {
    QR_MTP_N_FEATURES = 3, /* of kind FEATURES, if the file does not list them */
    QR_MTP_MAX_FEATURES = 16,
    QR_MTP_DEFAULT_LAYER = UINT32_MAX,
    QR_MTP_MAX_SELECT = 256, /* largest select_top */
};

/* Heads of kind QR_MTP_LAYER. Head k of several has keys and values of its own. Its row i reads the
 * token at i + 1 + k and a hidden state, x, and predicts the token at i + 2 + k: head k drafts the
 * token of number k. Its final norm, and its output matrix if the file has one, are its own. */
enum qr_mtp_heads {
    /* the first head alone, which drafts all tokens; the others are not loaded */
    QR_MTP_HEADS_FIRST,
    /* x: the residual stream of the model behind its last layer, at i, for every head (MiMo V2) */
    QR_MTP_HEADS_OF_MODEL,
    /* the same for head 0; for others that of the head before it, behind its layer, at i (Step 3.5,
     * as in DeepSeek V3, arXiv 2412.19437) */
    QR_MTP_HEADS_CHAINED,
};

enum { QR_MTP_MAX_HEADS = 8 }; /* further ones in a file are not loaded */

struct qr_mtp_config {
    enum qr_mtp_kind kind;
    bool hidden_first;       /* LAYER: proj([norm(h); norm(e)]) */
    enum qr_mtp_heads heads; /* LAYER: unless FIRST, n_layers of them */
    bool norm_residual;      /* FEATURES: x = norm(g) */
    bool norm_input;         /* FEATURES: g = proj(norm([f0; f1; ...])) */
    bool norm_features;      /* FEATURES: g = proj([norm(f0); norm(f1); ...]) */
    bool norm_state;    /* FEATURES: the state of drafted tokens is that behind the final norm */
    uint32_t layer;     /* LAYER: number of the first head's layer in tensor names */
    uint32_t base_size; /* hidden size of the model; 0: that of the head */
    /* FEATURES, BLOCK: layers of the model; QR_MTP_DEFAULT_LAYER, for all: 2, the middle, third
     * last */
    uint32_t n_features, feature_layers[QR_MTP_MAX_FEATURES];
    /* BLOCK: rows of a block, the token of all but the first one, and whether a row sees the rows
     * before it only, in layers without and with a window */
    uint32_t block_size, mask_token;
    bool full_causal, window_causal;
    bool from_anchor;
    uint32_t markov_rank; /* columns of MARKOV_*; 0: there is no Markov head, and no selector */
    uint32_t select_top;  /* of a selector, else 0 */
    uint32_t conv_taps, conv_group; /* channels with equal dynamic coefficients; 0: none */
    bool confidence;                /* BLOCK: the file may have CONFIDENCE */
    bool confidence_markov;         /* and its input has MARKOV_IN[t] */
    /* Tokens that the output matrix has rows for, 0: all; the logits of others are -inf */
    uint32_t n_outputs;
    bool order_is_offset; /* numbers of these tokens are stored less their row's number */
    /* The tokens are in n_clusters clusters of equal size, each with a centroid. Only logits of
     * tokens in the top_clusters clusters with the largest products of centroid and norm(x) are
     * computed; all others are -inf. n_clusters 0: all are computed */
    uint32_t n_clusters, top_clusters;
};

#endif
