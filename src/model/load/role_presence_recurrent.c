/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence_recurrent.c - the roles of recurrent layers that a configuration implies. */
#include "model/load/role_presence_recurrent.h"

static enum qr_presence required_if(bool condition) { return condition ? QR_REQUIRED : QR_ABSENT; }

/* Layers of RWKV-6. */
static enum qr_presence wkv6_presence(const struct qr_recurrent_config *r, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_REC_NORM:
    case QR_W_REC_NORM_BIAS:
        return required_if(!r->no_norm);
    case QR_W_REC_BONUS:
        return required_if(!r->gated_linear);
    case QR_W_REC_Q_BIAS:
    case QR_W_REC_K_BIAS:
    case QR_W_REC_V_BIAS:
        return required_if(r->qkv_bias);
    case QR_W_REC_Q:
    case QR_W_REC_K:
    case QR_W_REC_V:
    case QR_W_REC_Z:
    case QR_W_REC_OUT:
    case QR_W_REC_DT_A:
    case QR_W_REC_DT:
    case QR_W_REC_DT_BIAS:
    case QR_W_REC_MIX_K:
    case QR_W_REC_MIX_V:
    case QR_W_REC_MIX_Z:
    case QR_W_REC_MIX_Q:
    case QR_W_REC_MIX_DT:
    case QR_W_REC_MIX_X:
    case QR_W_REC_MIX_A:
    case QR_W_REC_MIX_B:
        return QR_REQUIRED;
    default:
        return QR_ABSENT;
    }
}

/* Layers of RWKV-7; `first`: of the model. */
static enum qr_presence wkv7_presence(const struct qr_recurrent_config *r, enum qr_weight_role role,
                                      bool first)
{
    switch (role) {
    case QR_W_REC_Z_A:
    case QR_W_REC_Z:
    case QR_W_REC_MIX_Z:
        return required_if(r->output != QR_RECURRENT_OUT_PLAIN);
    case QR_W_REC_NORM:
    case QR_W_REC_NORM_BIAS:
        return required_if(!r->no_norm);
    case QR_W_REC_Q:
    case QR_W_REC_K:
    case QR_W_REC_V:
    case QR_W_REC_OUT:
    case QR_W_REC_DT_A:
    case QR_W_REC_DT:
    case QR_W_REC_DT_BIAS:
        return QR_REQUIRED;
    case QR_W_REC_VALUE_A:
    case QR_W_REC_VALUE:
    case QR_W_REC_VALUE_BIAS:
        return required_if(!first);
    default:
        return required_if(role >= QR_W_REC_MIX_K && role <= QR_W_REC_BONUS);
    }
}

/* Other recurrent layers. */
static enum qr_presence recurrent_presence(const struct qr_recurrent_config *r,
                                           enum qr_weight_role role)
{
    const bool conv = r->conv_taps != 0, short_conv = r->kind == QR_RECURRENT_SHORT_CONV;
    const bool channels = qr_recurrent_reads_channels(r), delta = r->kind == QR_RECURRENT_DELTA;
    const bool steps = qr_recurrent_dt_width(r) != 0, wkv = r->kind == QR_RECURRENT_WKV;
    const bool rg_lru = r->kind == QR_RECURRENT_RG_LRU;
    if ((role >= QR_W_REC_MIX_Q && role <= QR_W_REC_K_BIAS) || role == QR_W_REC_NORM_BIAS)
        return QR_ABSENT; /* of RWKV-6 and RWKV-7 */
    switch (role) {
    case QR_W_REC_Q:
        return required_if(!channels && !wkv && !rg_lru);
    case QR_W_REC_K:
        return required_if(!channels && !rg_lru);
    case QR_W_REC_MIX_K:
    case QR_W_REC_MIX_V:
    case QR_W_REC_MIX_Z:
        return required_if(wkv);
    case QR_W_REC_Z:
        return required_if(r->output != QR_RECURRENT_OUT_PLAIN);
    case QR_W_REC_Z_A:
        return required_if(r->gate_rank != 0);
    case QR_W_REC_DT:
    case QR_W_REC_DT_BIAS:
        return required_if(steps && !rg_lru);
    case QR_W_REC_A:
        return required_if(steps || wkv);
    case QR_W_REC_GATE_I:
    case QR_W_REC_GATE_A:
    case QR_W_REC_GATE_I_BIAS:
    case QR_W_REC_GATE_A_BIAS:
        return required_if(rg_lru);
    case QR_W_REC_V_BIAS:
    case QR_W_REC_Z_BIAS:
    case QR_W_REC_OUT_BIAS:
        return required_if(r->bias);
    case QR_W_REC_DT_A:
        return required_if(r->dt_rank && !channels);
    case QR_W_REC_BETA:
        return required_if(delta);
    case QR_W_REC_X:
        return required_if(channels);
    case QR_W_REC_CONV_Q:
    case QR_W_REC_CONV_K:
        return required_if(conv && !channels && !short_conv && !rg_lru);
    case QR_W_REC_CONV_V:
        return required_if(conv);
    case QR_W_REC_CONV_Q_BIAS:
    case QR_W_REC_CONV_K_BIAS:
        return required_if(conv && !channels && !short_conv && !rg_lru && r->conv_bias);
    case QR_W_REC_CONV_V_BIAS:
        return required_if(conv && r->conv_bias);
    case QR_W_REC_D:
        return required_if(channels || wkv || r->kind == QR_RECURRENT_MAMBA2);
    case QR_W_REC_DT_NORM:
    case QR_W_REC_B_NORM:
    case QR_W_REC_C_NORM:
        return required_if(r->dt_norms && r->norm_weights);
    case QR_W_REC_NORM:
        return required_if(r->output == QR_RECURRENT_OUT_NORM_GATE ||
                           r->output == QR_RECURRENT_OUT_GATE_NORM);
    default: /* V, OUT */
        return QR_REQUIRED;
    }
}

enum qr_presence qr_recurrent_role_presence(const struct qr_recurrent_config *r,
                                            enum qr_weight_role role, bool first)
{
    switch (r->kind) {
    case QR_RECURRENT_WKV6:
        return wkv6_presence(r, role);
    case QR_RECURRENT_WKV7:
        return wkv7_presence(r, role, first);
    default:
        return recurrent_presence(r, role);
    }
}
