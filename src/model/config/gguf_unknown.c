/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_unknown.c - finds metadata keys that the configuration does not account for. */
#include "model/config/gguf_unknown.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include <stdio.h>
#include <string.h>

/* Keys without effect in every family. */
static const struct qr_ignored_key common[] = {
    { "tensor_data_layout", NULL },           /* the layout follows from the family */
    { "leading_dense_block_count", NULL },    /* layers with a router are the MoE layers */
    { "interleave_moe_layer_step", NULL },    /* likewise */
    { "moe_every_n_layers", NULL },           /* likewise */
    { "attention.layer_norm_epsilon", NULL }, /* the other one of two; the family has one norm */
    { "attention.layer_norm_rms_epsilon", NULL },
    { "attention.sliding_window_pattern", NULL }, /* read if there is a window */
    /* parameters of the scaling rules that are not in use */
    { "rope.dimension_sections", NULL }, /* positions of images; those of text are plain */
    { "n_deepstack_layers", NULL },      /* to which features of images are added */
    { "rope.scaling.finetuned", NULL },  /* whether the model was trained with the scaling */
    { "rope.scaling.original_context_length", NULL },
    { "rope.scaling.yarn_beta_fast", NULL },
    { "rope.scaling.yarn_beta_slow", NULL },
    { "rope.scaling.yarn_ext_factor", "1" },
    { "rope.scaling.attn_factor", "1" },
    { "rope.scaling.yarn_attn_factor", "1" },
    { "expert_group_scale", "1" },
    { "altup.lr_multiplier", NULL },      /* training */
    { "classifier.output_labels", NULL }, /* names */
    /* image encoders of multimodal files; the text model does not use them */
    { "vision.*", NULL },
    { "mm.*", NULL },
    { 0 },
};

/* Whether the value is 0, false or empty (only NULL), or the number that `only` names. */
static bool has_value(const struct qr_gguf *g, const char *key, const char *only)
{
    enum qr_gguf_type type = QR_GGUF_ARRAY;
    struct qr_gguf_str text;
    int64_t n;
    float x;
    bool on;
    const int64_t want = only ? 1 : 0;
    (void)qr_gguf_value_type(g, key, &type);
    switch (type) {
    case QR_GGUF_BOOL:
        /* GCOVR_EXCL_BR_LINE: the getter is that of the key's type. */
        return qr_gguf_get_bool(g, key, &on, NULL) == QUIRE_OK && on == (want != 0);
    case QR_GGUF_STRING:
        /* GCOVR_EXCL_BR_LINE: the getter is that of the key's type. */
        return qr_gguf_get_str(g, key, &text, NULL) == QUIRE_OK && text.size == 0 && !only;
    case QR_GGUF_F32:
    case QR_GGUF_F64:
        /* GCOVR_EXCL_BR_LINE: the getter is that of the key's type. */
        return qr_gguf_get_f32(g, key, &x, NULL) == QUIRE_OK && x == (float)want;
    case QR_GGUF_ARRAY:
        return false;
    default:
        return qr_gguf_get_i64(g, key, &n, NULL) == QUIRE_OK && n == want;
    }
}

/* key: with the prefix. */
static bool is_known(const struct qr_gguf_source *s, const char *key)
{
    const char *name = key + strlen(s->prefix) + 1;
    if ((s->cfg->n_rope == 0 && strncmp(name, "rope.", 5) == 0) ||
        (s->cfg->moe.n_experts == 0 && strncmp(name, "expert_", 7) == 0))
        return true; /* a model without RoPE or experts */
    const struct qr_ignored_key *k = qr_ignored_find(common, name);
    return k && !k->value ? true : has_value(s->g, key, k ? k->value : NULL);
}

quire_status qr_gguf_check_unknown(const struct qr_gguf_source *s,
                                   const struct qr_unknown_policy *policy)
{
    const size_t n = strlen(s->prefix);
    for (size_t i = 0; i < qr_gguf_key_count(s->g); i++) {
        const struct qr_gguf_str k = qr_gguf_key(s->g, i);
        char key[QR_GGUF_KEY_MAX];
        if (s->read[i] || k.size <= n || memcmp(k.data, s->prefix, n) != 0 || k.data[n] != '.')
            continue;
        snprintf(key, sizeof key, "%.*s", (int)(k.size < sizeof key ? k.size : sizeof key), k.data);
        if (k.size >= sizeof key || !is_known(s, key))
            QR_TRY(qr_unknown_report(policy, s->err,
                                     "metadata key %s is not supported in family %s", key,
                                     s->arch->name));
    }
    return QUIRE_OK;
}
