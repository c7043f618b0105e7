/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_names.c - the names of a checkpoint's tensors: rules of its family, prefixes. */
#include "model/load/tensor_names.h"
#include "model/arch/arch.h"
#include "model/load/weight_roles.h"
#include "model/load/weights_source.h"
#include <stdio.h>
#include <string.h>

/* Multimodal checkpoints put the language model under a prefix, which two releases of the reference
 * implementation place differently. Base models without a head omit "model.". */
static const struct {
    const char *strip, *add;
} prefixes[] = {
    { "", "" },         { "", "language_model." }, { "model.", "model.language_model." },
    { "model.", "" },   { "transformer.", "" },    { "bert.", "" },
    { "roberta.", "" }, { "distilbert.", "" },     { "mpnet.", "" },
    { "electra.", "" }, { "albert.", "" },         { "deberta.", "" },
    { "new.", "" },
};

static void apply_prefix(const struct qr_weights *w, char name[QR_NAME_MAX])
{
    char plain[QR_NAME_MAX];
    const size_t n = strlen(w->strip);
    memcpy(plain, name, QR_NAME_MAX);
    if (strncmp(plain, w->strip, n) == 0)
        snprintf(name, QR_NAME_MAX, "%.40s%.87s", w->add, plain + n);
}

/* Puts the prefix of the layers of heads of multi-token prediction into a name. */
static void apply_mtp_prefix(const struct qr_weights *w, char name[QR_NAME_MAX])
{
    static const char layers[] = "model.layers.";
    const char *prefix =
        w->config.mtp.kind == QR_MTP_LAYER && !w->gguf ? w->arch->hf_mtp_layers : NULL;
    char plain[QR_NAME_MAX];
    if (!prefix || strncmp(name, layers, sizeof layers - 1) != 0)
        return;
    memcpy(plain, name, sizeof plain);
    snprintf(name, QR_NAME_MAX, "%.30s%.90s", prefix, plain + sizeof layers - 1);
}

/* A rule for a head of multi-token prediction: its own names, then those of the model's layers,
 * whose number or prefix differs. */
static const struct qr_name_rule *mtp_rule(const struct qr_weights *w, enum qr_weight_role role,
                                           uint32_t layer, unsigned nth, char name[QR_NAME_MAX])
{
    const struct qr_arch *a = w->arch;
    const bool gguf = w->gguf != NULL;
    const struct qr_name_rule *mtp = gguf ? a->gguf_mtp_names : a->hf_mtp_names, *r;
    char any[QR_NAME_MAX];
    if (qr_arch_name(mtp, NULL, role, 0, 0, any))
        r = qr_arch_name(mtp, NULL, role, w->config.mtp.layer + layer, nth, name);
    else
        r = qr_arch_name(gguf ? a->gguf_names : a->hf_names,
                         gguf ? a->gguf_common_names : a->hf_common_names, role,
                         w->config.mtp.layer + layer, nth, name);
    if (r)
        apply_mtp_prefix(w, name);
    return r;
}

const struct qr_name_rule *qr_tensor_rule(const struct qr_weights *w, enum qr_weight_role role,
                                          uint32_t layer, unsigned nth, char name[QR_NAME_MAX])
{
    const struct qr_arch *a = w->arch;
    const bool gguf = w->gguf != NULL, encoder = layer >= w->config.n_layers;
    const struct qr_name_rule *own = w->gguf_names ? w->gguf_names
                                     : gguf        ? a->gguf_names
                                                   : a->hf_names;
    const struct qr_name_rule *common = gguf ? a->gguf_common_names : a->hf_common_names;
    /* heads outside of the model proper, whose names have no prefix */
    const bool is_class = w->config.kind == QR_MODEL_DECODER && qr_role_is_class(role),
               head = qr_role_is_dense(role) || is_class;
    if (head) {
        own = is_class ? (gguf ? qr_names_gguf_class : qr_names_hf_class)
                       : (gguf ? qr_names_gguf_dense : qr_names_hf_dense);
        common = NULL;
    } else if (encoder) { /* not with heads of multi-token prediction */
        own = gguf ? a->gguf_encoder_names : a->hf_encoder_names;
        common = NULL;
        layer -= w->config.n_layers;
    } else {
        layer = qr_loop_layer(&w->config, layer);
    }
    const struct qr_name_rule *r = w->config.mtp.kind == QR_MTP_LAYER
                                       ? mtp_rule(w, role, layer, nth, name)
                                       : qr_arch_name(own, common, role, layer, nth, name);
    if (r && qr_role_in_block(&w->config, role, layer))
        qr_rule_name(r, w->config.layers[layer].block_owner, w->config.layers[layer].block_use,
                     name);
    if (r && !gguf && !head)
        apply_prefix(w, name);
    return r;
}

bool qr_tensor_plain_name(size_t nth, const char *name, char plain[QR_NAME_MAX])
{
    if (nth >= sizeof prefixes / sizeof *prefixes)
        return false;
    const size_t n = strlen(prefixes[nth].add);
    plain[0] = 0;
    if (strncmp(name, prefixes[nth].add, n) == 0 && strlen(name) < QR_NAME_MAX - 40)
        snprintf(plain, QR_NAME_MAX, "%.30s%.90s", prefixes[nth].strip, name + n);
    return true;
}

void qr_tensor_choose_prefix(struct qr_weights *w)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char name[QR_NAME_MAX];
        size_t tensor;
        w->strip = prefixes[i].strip;
        w->add = prefixes[i].add;
        /* GCOVR_EXCL_BR_LINE: every family has a name for the token embedding */
        if (w->gguf || (qr_tensor_rule(w, QR_W_TOKEN_EMBD, 0, 0, name) &&
                        qr_weights_source_find(w, name, &tensor)))
            return;
    }
    w->strip = w->add = "";
}

void qr_tensor_rule_name(const struct qr_weights *w, const struct qr_name_rule *r, uint32_t layer,
                         uint32_t expert, char name[QR_NAME_MAX])
{
    qr_rule_name(r, layer + w->config.mtp.layer, expert, name);
    apply_mtp_prefix(w, name);
    if (!w->gguf)
        apply_prefix(w, name);
}
