/* SPDX-License-Identifier: Apache-2.0 */
/* hf_stacks.c - encoder-decoders whose config.json has an object for each stack of layers. */
#include "model/config/hf_stacks.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include <string.h>

quire_status qr_hf_find_stacks(struct qr_hf_source *h)
{
    static const char whole[] = "is_encoder_decoder";
    const struct qr_json *encoder = qr_json_get(h->outer, "encoder"),
                         *decoder = qr_json_get(h->outer, "decoder");
    bool both = true;
    enum qr_json_state state;
    if (!h->arch->hf_stacks)
        return QUIRE_OK;
    if (!qr_json_is_object(encoder))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: encoder must be an object");
    if (decoder && !qr_json_is_object(decoder) && !qr_json_is_null(decoder))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: decoder must be an object");
    QR_TRY(qr_json_bool(h->outer, "config.json", whole, &both, &state, h->err));
    if (!both)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: %s = false is not supported in family %s", whole,
                       h->arch->name);
    h->encoder = encoder;
    h->root = qr_json_is_object(decoder) ? decoder : encoder;
    return QUIRE_OK;
}

/* What both stacks must have alike, by the key that decides. */
static quire_status check_alike(const struct qr_hf_source *h, const struct qr_model_config *e)
{
    const struct qr_model_config *d = h->cfg;
    const struct qr_layer_config *le = &e->layers[0], *ld = &d->layers[0];
    const struct {
        const char *key;
        double encoder, decoder;
    } values[] = {
        { "vocab_size", e->vocab_size, d->vocab_size },
        { "hidden_size", e->hidden_size, d->hidden_size },
        { "num_attention_heads", le->n_heads, ld->n_heads },
        { "num_key_value_heads", le->n_kv_heads, ld->n_kv_heads },
        { "head_dim", e->head_dim, d->head_dim },
        { "hidden_activation", e->activation, d->activation },
        { "attention_bias", e->bias.q, d->bias.q },
        { "rms_norm_eps", (double)e->norm_eps, (double)d->norm_eps },
        { "query_pre_attn_scalar", (double)e->attention_scale, (double)d->attention_scale },
        { "attn_logit_softcapping", (double)e->attention_softcap, (double)d->attention_softcap },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].encoder != values[i].decoder)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: encoder.%s differs from that of the decoder, which is not "
                           "supported",
                           values[i].key);
    return QUIRE_OK;
}

static bool same_factors(const float *a, const float *b, uint32_t n)
{
    return !a == !b && (!a || memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_rope(const struct qr_rope_config *a, const struct qr_rope_config *b)
{
    return a->scaling == b->scaling && a->dim == b->dim &&
           a->original_context == b->original_context && a->theta == b->theta &&
           a->factor == b->factor && a->low_freq_factor == b->low_freq_factor &&
           a->high_freq_factor == b->high_freq_factor && a->beta_fast == b->beta_fast &&
           a->beta_slow == b->beta_slow && a->truncate == b->truncate &&
           a->cos_sin_scale == b->cos_sin_scale &&
           same_factors(a->factors_short, b->factors_short, a->dim / 2) &&
           same_factors(a->factors_long, b->factors_long, a->dim / 2);
}

quire_status qr_hf_join_stacks(const struct qr_hf_source *h, const struct qr_model_config *encoder)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t version;
    if (!cfg->causal || !encoder->causal)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: use_bidirectional_attention is not supported in family %s",
                       h->arch->name);
    QR_TRY(check_alike(h, encoder));
    if (!same_rope(&encoder->rope[0], &cfg->rope[0]))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: encoder.rope_parameters differ from those of the decoder, "
                       "which is not supported");
    QR_TRY(qr_hf_writer_version(h, &version));
    const bool wider =
        h->arch->hf_wider_encoder_since && version >= h->arch->hf_wider_encoder_since;
    if (encoder->context_length < cfg->context_length)
        cfg->context_length = encoder->context_length;
    for (uint32_t i = 0; i < encoder->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[cfg->n_layers + i];
        *l = encoder->layers[i];
        l->kv_source = cfg->n_layers + i;
        l->encoder = true;
        l->window += l->window && wider;
    }
    return QUIRE_OK;
}
