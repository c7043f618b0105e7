/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_detect.c - what the tensors of a file, not its configuration, say about a model. */
#include "model/load/tensor_detect.h"
#include "model/arch/arch.h"
#include "model/load/tensor_names.h"
#include "model/load/weights_source.h"

/* Transformers 5 writes the convolution over q, k and v as three tensors of equal size, whatever
 * their channels. */
static void detect_conv_thirds(struct qr_weights *w)
{
    struct qr_recurrent_config *r = &w->config.recurrent;
    const uint64_t width = qr_recurrent_conv_width(r);
    uint32_t layer = 0;
    while (layer < w->config.n_layers && !qr_layer_recurs(&w->config.layers[layer]))
        layer++;
    char name[QR_NAME_MAX];
    size_t tensor;
    const struct qr_name_rule *rule_q =
        layer < w->config.n_layers ? qr_tensor_rule(w, QR_W_REC_CONV_Q, layer, 0, name) : NULL;
    if (!rule_q || rule_q->slice != QR_SLICE_ALL || width % 3 != 0 ||
        !qr_weights_source_find(w, name, &tensor))
        return;
    struct qr_source_tensor t;
    qr_weights_source_tensor(w, tensor, &t);
    r->conv_thirds =
        t.n_dims == 3 && t.dims[2] == width / 3 && t.dims[2] != qr_recurrent_key_width(r);
}

/* Whether the file has the tensor of a role in layer 0. */
static bool has_tensor(const struct qr_weights *w, enum qr_weight_role role)
{
    char name[QR_NAME_MAX];
    size_t tensor;
    for (unsigned n = 0; qr_tensor_rule(w, role, 0, n, name); n++)
        if (qr_weights_source_find(w, name, &tensor))
            return true;
    return false;
}

void qr_tensor_detect(struct qr_weights *w)
{
    struct qr_model_config *c = &w->config;
    detect_conv_thirds(w);
    if (!w->arch->norms_by_tensors)
        return;
    c->qk_norm_bias = has_tensor(w, QR_W_ATTN_Q_NORM);
    c->qk_norm = c->qk_norm_bias ? QR_QK_NORM_FULL : QR_QK_NORM_NONE;
    c->second_post_norm = has_tensor(w, QR_W_ATTN_POST_NORM_2);
    if (w->gguf && !has_tensor(w, QR_W_FFN_GATE))
        w->gguf_names = w->arch->gguf_fused_names[c->second_post_norm];
}
