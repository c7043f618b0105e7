/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence_global.c - the roles outside of the layers that a configuration implies. */
#include "model/load/role_presence_global.h"
#include "model/load/weight_roles.h"

static enum qr_presence required_if(bool condition) { return condition ? QR_REQUIRED : QR_ABSENT; }

/* Roles of the classification head. */
static enum qr_presence class_presence(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool dense = role == QR_W_CLASS_DENSE || role == QR_W_CLASS_DENSE_BIAS;
    if (c->class_head == QR_CLASS_NONE || (dense && !qr_class_head_has_dense(c->class_head)))
        return QR_ABSENT;
    return qr_role_is_matrix(role) ? QR_REQUIRED : QR_OPTIONAL;
}

enum qr_presence qr_global_role_presence(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool encoder = c->kind == QR_MODEL_ENCODER;
    switch (role) {
    /* the file decides: an output matrix in it is used even if the config says tied */
    case QR_W_OUTPUT:
        if (c->mtp.n_features) /* else that of the model */
            return c->mtp.n_outputs ? QR_REQUIRED : QR_OPTIONAL;
        return c->tied_embeddings || encoder || c->class_head != QR_CLASS_NONE ? QR_OPTIONAL
                                                                               : QR_REQUIRED;
    case QR_W_OUTPUT_BIAS:
        return c->kind == QR_MODEL_DECODER ? required_if(c->bias.output) : QR_OPTIONAL;
    case QR_W_OUTPUT_GAIN:
        return required_if(c->output_gain);
    case QR_W_ENC_TOKEN_EMBD:
        return required_if(c->encoder_embedding);
    case QR_W_EMBD_SHIFT:
    case QR_W_EMBD_SCALE:
        return required_if(c->embedding_affine);
    case QR_W_DISTANCE_EMBD:
        return required_if(c->disentangled.span != 0);
    case QR_W_DISTANCE_NORM:
    case QR_W_DISTANCE_NORM_BIAS:
        return required_if(c->disentangled.norm);
    case QR_W_EMBD_PROJ:
        return required_if(c->embedding_size != 0);
    case QR_W_EMBD_PROJ_BIAS:
        return c->embedding_size ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_MTP_POST:
        return required_if(c->mtp.kind == QR_MTP_SHARED_KV);
    case QR_W_MTP_CENTROIDS:
        return required_if(c->mtp.n_clusters != 0);
    case QR_W_MTP_ORDER:
        return c->mtp.n_clusters || c->mtp.n_outputs ? QR_REQUIRED
               : c->mtp.n_features                   ? QR_OPTIONAL
                                                     : QR_ABSENT;
    case QR_W_MTP_FEATURE_NORMS:
        return required_if(c->mtp.norm_features);
    case QR_W_MTP_MARKOV_IN:
    case QR_W_MTP_MARKOV_OUT:
        return required_if(c->mtp.markov_rank != 0);
    case QR_W_MTP_SELECT:
        return required_if(c->mtp.select_top != 0);
    case QR_W_MTP_CONFIDENCE: /* checkpoints may lack it */
    case QR_W_MTP_CONFIDENCE_BIAS:
        return c->mtp.confidence ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_POS_EMBD:
        return required_if(c->learned_positions);
    case QR_W_ENC_POS_EMBD:
        return required_if(c->learned_positions && c->n_encoder_layers);
    case QR_W_TYPE_EMBD:
        return required_if(c->n_token_types != 0);
    case QR_W_HEAD_DENSE: /* checkpoints of encoders may lack these */
        if (c->head_dense)
            return QR_REQUIRED;
        return c->class_head == QR_CLASS_MASKED ? QR_REQUIRED : encoder ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_POOLER:
        return c->class_head == QR_CLASS_POOLER ? QR_REQUIRED : encoder ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_CLASS_DENSE:
    case QR_W_CLASS_DENSE_BIAS:
    case QR_W_CLASS_OUT:
    case QR_W_CLASS_OUT_BIAS:
        return class_presence(c, role);
    case QR_W_HEAD_DENSE_BIAS:
    case QR_W_HEAD_NORM:
    case QR_W_HEAD_NORM_BIAS:
        return encoder || c->head_dense ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_POOLER_BIAS:
        return encoder ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_TOKEN_EMBD: /* else that of the model */
    default:
        return c->mtp.n_features ? QR_OPTIONAL : QR_REQUIRED;
    }
}
