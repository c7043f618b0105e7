/* SPDX-License-Identifier: Apache-2.0 */
/* state_layout.c - where the recurrent layers of a model lie in the state of a sequence. */
#include "model/state_layout.h"
#include "base/checked.h"
#include "base/error.h"

enum { ALIGN_FLOATS = 16 };

static uint64_t align_floats(uint64_t n)
{
    return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

/* The last projections of tokens to compressed keys; returns the new end of the state. */
static uint64_t place_rings(struct quire_model *m, uint32_t i, uint64_t floats)
{
    const struct qr_layer_config *l = &m->config->layers[i];
    const bool overlap = l->index == QR_INDEX_OWN;
    m->layers[i].compress_ring = (size_t)floats;
    floats += align_floats(qr_compress_ring_floats(l, l->head_dim));
    m->layers[i].index_ring = (size_t)floats;
    return floats +
           (overlap ? align_floats(qr_compress_ring_floats(l, m->config->index.head_dim)) : 0);
}

/* Floats of the two parts of a layer's state. */
struct parts {
    uint64_t tail, state;
};

/* Convolutional attention: the last inputs of both convolutions, and of the delayed values. */
static struct parts conv_attention_parts(const struct qr_model_config *c,
                                         const struct qr_layer_config *l)
{
    const struct qr_conv_attention_config *a = &c->conv_attention;
    const uint64_t width = qr_conv_attention_width(l);
    return (struct parts){ align_floats((a->channel_taps - 1) * width),
                           align_floats((a->head_taps - 1) * width +
                                        (uint64_t)l->n_kv_heads * l->v_head_dim / 2) };
}

static struct parts recurrent_parts(const struct quire_model *m)
{
    const struct qr_model_config *c = m->config;
    const struct qr_recurrent_config *r = &c->recurrent;
    /* the validator bounds every factor: no product below overflows 64 bits */
    const bool wkv = r->kind == QR_RECURRENT_WKV, shifts = qr_recurrent_shifts(r);
    const uint64_t tail = r->conv_taps
                              ? align_floats(qr_recurrent_conv_width(r) * (r->conv_taps - 1))
                          : shifts ? align_floats((r->plain_ffn ? 1 : 2) * (uint64_t)c->hidden_size)
                                   : 0;
    const uint64_t n = (wkv ? 3 : 1) * (uint64_t)r->n_heads * r->key_dim * r->value_dim;
    if (r->kind == QR_RECURRENT_SHORT_CONV)
        return (struct parts){ tail, 0 };
    return (struct parts){ tail, align_floats(m->bf16_states ? (n + 1) / 2 : n) };
}

/* The last inputs of the convolution over n-gram embeddings, and tokens; returns the new end of the
 * state. */
static uint64_t place_ngrams(struct quire_model *m, uint32_t i, uint64_t floats)
{
    const struct qr_ngram_config *n = &m->config->ngram;
    const uint64_t streams = (uint64_t)m->config->hyper.n_streams * m->config->hidden_size;
    m->layers[i].ngram_tail = (size_t)floats;
    floats += align_floats(streams * (n->taps - 1) * n->size);
    m->layers[i].ngram_context = (size_t)floats;
    return floats + align_floats(n->size - 1);
}

quire_status qr_model_place_states(struct quire_model *m, bool bf16, struct quire_error *err)
{
    const enum qr_recurrent_kind kind = m->config->recurrent.kind;
    uint64_t floats = 0;
    m->bf16_states = bf16 && kind != QR_RECURRENT_NONE && kind != QR_RECURRENT_SHORT_CONV &&
                     kind != QR_RECURRENT_WKV;
    for (uint32_t i = 0; i < m->config->n_layers; i++) {
        const struct qr_layer_config *l = &m->config->layers[i];
        const bool convolves = qr_layer_convolves(m->config, l);
        const uint64_t before = floats;
        if (l->ngram)
            floats = place_ngrams(m, i, floats);
        if (l->compress_rate)
            floats = place_rings(m, i, floats);
        m->n_recurrent += floats != before && !convolves && !qr_layer_recurs(l);
        if (!convolves && !qr_layer_recurs(l))
            continue;
        const struct parts n = convolves ? conv_attention_parts(m->config, l) : recurrent_parts(m);
        m->layers[i].recurrent.tail = (size_t)floats;
        m->layers[i].recurrent.state = (size_t)(floats + n.tail);
        floats += n.tail + n.state;
        m->n_recurrent++;
        if (floats > SIZE_MAX / sizeof(float))
            return qr_fail(err, QUIRE_E_LIMIT,
                           "the recurrent states of a sequence exceed the "
                           "address space");
    }
    m->state_bytes = floats * sizeof(float);
    return QUIRE_OK;
}
