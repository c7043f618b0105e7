/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - choice of the matmul provider for f32 and bf16 weights: quire's kernels or
 * oneDNN. */
#include "model/load/provider.h"
#include "base/error.h"
#include "linear/onednn.h"
#include "model/load/weight_roles.h"
#include "model/load/weights.h"

bool qr_provider_auto(enum qr_pass_kind pass, bool supported, bool (*is_faster)(void *user),
                      void *user)
{
    return pass == QR_PASS_ENCODE && supported && is_faster(user);
}

bool qr_provider_supports(enum qr_weight_role role, uint32_t type)
{
    /* tables but the token embedding, which may be the LM head, are only looked up; routers and
     * dense layers behind the pooling are always computed in f32 */
    return qr_role_is_matrix(role) && role != QR_W_POS_EMBD && role != QR_W_ENC_POS_EMBD &&
           role != QR_W_TYPE_EMBD && role != QR_W_DISTANCE_EMBD && !qr_role_is_dense(role) &&
           role != QR_W_PLE_EMBD && role != QR_W_ENC_TOKEN_EMBD && role != QR_W_ROUTER &&
           role != QR_W_SHARED_ROUTER && role != QR_W_ROUTER_IN && role != QR_W_ROUTER_FC1 &&
           role != QR_W_ROUTER_FC2 && (type == QR_WEIGHT_F32 || type == QR_WEIGHT_BF16);
}

/* Weights that oneDNN can hold. The self-test measures with the longest rows among them. */
struct survey {
    const struct quire_model *model;
    uint32_t n_f32, n_bf16;
    enum qr_weight_type longest_type;
    uint64_t longest;
};

static void count_role(struct survey *s, enum qr_weight_role role, uint32_t layer)
{
    struct qr_weight w;
    if (!qr_weights_find(s->model->weights, role, layer, &w) || !qr_provider_supports(role, w.type))
        return;
    if (w.type == QR_WEIGHT_F32)
        s->n_f32++;
    else
        s->n_bf16++;
    if (w.n_cols > s->longest) {
        s->longest = w.n_cols;
        s->longest_type = (enum qr_weight_type)w.type;
    }
}

static void count_all_roles(struct survey *s)
{
    for (int r = 0; r < QR_W_FIRST_LAYER_ROLE; r++)
        count_role(s, (enum qr_weight_role)r, 0);
    for (uint32_t i = 0; i < qr_model_total_layers(s->model->config); i++)
        for (int r = QR_W_FIRST_LAYER_ROLE; r < QR_W_N_ROLES; r++)
            count_role(s, (enum qr_weight_role)r, i);
}

static bool onednn_is_faster(void *user)
{
    const struct survey *s = user;
    return qr_onednn_is_faster(s->longest_type, (size_t)s->longest, s->model->kernels,
                               s->model->allocator);
}

quire_status qr_provider_choose(struct quire_model *m, enum quire_linear_provider wanted,
                                struct quire_error *err)
{
    struct survey s = { .model = m };
    count_all_roles(&s);
    /* oneDNN multiplies bf16 weights with bf16 activations only */
    const bool exact_bf16 = s.n_bf16 && m->compute == QUIRE_COMPUTE_F32;
    const bool supported = (s.n_f32 || s.n_bf16) && !exact_bf16;
    const enum qr_pass_kind pass =
        m->config->kind == QR_MODEL_ENCODER ? QR_PASS_ENCODE : QR_PASS_CACHED;
    if (wanted == QUIRE_LINEAR_QUIRE)
        return QUIRE_OK;
    if (wanted == QUIRE_LINEAR_AUTO)
        return qr_provider_auto(pass, supported, onednn_is_faster, &s)
                   ? qr_onednn_create(m->allocator, &m->onednn, err)
                   : QUIRE_OK;
    QR_TRY(qr_onednn_create(m->allocator, &m->onednn, err));
    if (exact_bf16)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "params.linear: oneDNN cannot multiply BF16 weights in compute mode f32");
    if (!supported)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "params.linear: oneDNN holds F32 and BF16 weights; the model has none");
    return QUIRE_OK;
}
