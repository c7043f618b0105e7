/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - tensor names shared by most families, and the expansion of name rules. */
#include "model/arch/names.h"
#include <stddef.h>
#include <stdio.h>

#define L "model.layers.%u."
const struct qr_name_rule qr_names_hf_llama[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embed_tokens.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "lm_head.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "model.norm.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "input_layernorm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "input_layernorm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.o_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.o_proj.bias" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "self_attn.q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "self_attn.k_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "post_attention_layernorm.bias" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { QR_W_FFN_GATE_BIAS, QR_SLICE_ALL, L "mlp.gate_proj.bias" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.up_proj.bias" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.down_proj.bias" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.gate.e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "mlp.experts.%u.gate_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "mlp.experts.%u.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.%u.down_proj.weight" },
    /* all experts as one tensor: so Transformers 5 has them in memory, and some files */
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { QR_W_SHARED_ROUTER, QR_SLICE_ALL, L "mlp.shared_expert_gate.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "mlp.shared_expert.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "mlp.shared_expert.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "mlp.shared_expert.down_proj.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "mlp.shared_experts.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "mlp.shared_experts.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "mlp.shared_experts.down_proj.weight" },
    { 0 },
};
#undef L

#define L "blk.%u."
const struct qr_name_rule qr_names_gguf[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "token_embd.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "output.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "output.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "output_norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "output_norm.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "attn_norm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn_k.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn_v.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn_qkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn_qkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn_qkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn_output.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attn_q.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attn_k.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attn_v.bias" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attn_qkv.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attn_qkv.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attn_qkv.bias" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn_output.bias" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "attn_q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "attn_k_norm.weight" },
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, L "attn_sinks.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ffn_norm.bias" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "ffn_gate.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn_up.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn_down.weight" },
    { QR_W_FFN_GATE_BIAS, QR_SLICE_ALL, L "ffn_gate.bias" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "ffn_up.bias" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "ffn_down.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_ffw_norm.weight" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, "position_embd.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "token_embd_norm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "token_embd_norm.bias" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "ffn_gate_inp.weight" },
    { QR_W_ROUTER_BIAS, QR_SLICE_ALL, L "ffn_gate_inp.bias" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "exp_probs_b.bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "ffn_gate_exps.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "ffn_up_exps.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "ffn_down_exps.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "ffn_gate_up_exps.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "ffn_gate_up_exps.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "ffn_gate.%u.weight" }, /* older files */
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "ffn_up.%u.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "ffn_down.%u.weight" },
    { QR_W_EXPERT_GATE_BIAS, QR_SLICE_ALL, L "ffn_gate_exps.bias" },
    { QR_W_EXPERT_UP_BIAS, QR_SLICE_ALL, L "ffn_up_exps.bias" },
    { QR_W_EXPERT_DOWN_BIAS, QR_SLICE_ALL, L "ffn_down_exps.bias" },
    { QR_W_SHARED_ROUTER, QR_SLICE_ALL, L "ffn_gate_inp_shexp.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "ffn_gate_shexp.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "ffn_up_shexp.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "ffn_down_shexp.weight" },
    { 0 },
};
#undef L

#define L "model.layers.%u.self_attn."
const struct qr_name_rule qr_names_hf_latent[] = {
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, L "q_a_proj.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, L "q_a_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "q_b_proj.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "kv_a_proj_with_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "kv_a_layernorm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, L "kv_b_proj.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, L "kv_b_proj.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, L "kv_b_proj.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "indexer.wq_b.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "indexer.wk.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "indexer.k_norm.weight" },
    { QR_W_INDEX_K_NORM_BIAS, QR_SLICE_ALL, L "indexer.k_norm.bias" },
    { QR_W_INDEX_WEIGHTS, QR_SLICE_ALL, L "indexer.weights_proj.weight" },
    { 0 },
};
#undef L

/* Older converters wrote kv_b as one tensor; newer ones write two, with W_UK transposed. */
#define L "blk.%u."
const struct qr_name_rule qr_names_gguf_latent[] = {
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, L "attn_q_a.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, L "attn_q_a_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q_b.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "attn_kv_a_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "attn_kv_a_norm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, L "attn_kv_b.weight" },
    { QR_W_LATENT_UK, QR_SLICE_ALL, L "attn_k_b.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, L "attn_kv_b.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_TRANSPOSED, L "attn_k_b.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, L "attn_kv_b.weight" },
    { QR_W_LATENT_UV, QR_SLICE_ALL, L "attn_v_b.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "indexer.attn_q_b.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "indexer.attn_k.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "indexer.k_norm.weight" },
    { QR_W_INDEX_K_NORM_BIAS, QR_SLICE_ALL, L "indexer.k_norm.bias" },
    { QR_W_INDEX_WEIGHTS, QR_SLICE_ALL, L "indexer.proj.weight" },
    { 0 },
};
#undef L

const struct qr_name_rule qr_names_hf_mtp[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "model.layers.%u.enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "model.layers.%u.hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "model.layers.%u.eh_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.layers.%u.shared_head.norm.weight" },
    { 0 },
};
const struct qr_name_rule qr_names_hf_mtp_final_norm[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "model.layers.%u.enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "model.layers.%u.hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "model.layers.%u.eh_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.layers.%u.final_layernorm.weight" },
    { 0 },
};
const struct qr_name_rule qr_names_gguf_mtp_layer_norm[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "blk.%u.nextn.enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "blk.%u.nextn.hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "blk.%u.nextn.eh_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "blk.%u.layer_output_norm.weight" },
    { 0 },
};
const struct qr_name_rule qr_names_gguf_mtp[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "blk.%u.nextn.enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "blk.%u.nextn.hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "blk.%u.nextn.eh_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "blk.%u.nextn.shared_head_norm.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "output_norm.weight" }, /* converters may omit the own one */
    { 0 },
};

/* Converters of MiMo V2 name the final norm of a head layer_output_norm. */
const struct qr_name_rule qr_names_gguf_mtp_heads[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "blk.%u.nextn.enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "blk.%u.nextn.hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "blk.%u.nextn.eh_proj.weight" },
    { QR_W_MTP_NORM, QR_SLICE_ALL, "blk.%u.nextn.shared_head_norm.weight" },
    { QR_W_MTP_NORM, QR_SLICE_ALL, "blk.%u.layer_output_norm.weight" },
    { QR_W_MTP_NORM, QR_SLICE_ALL, "output_norm.weight" }, /* as in qr_names_gguf_mtp */
    { QR_W_MTP_OUTPUT, QR_SLICE_ALL, "blk.%u.nextn.shared_head_head.weight" },
    { 0 },
};

const struct qr_name_rule qr_names_hf_dense[] = {
    { QR_W_DENSE_0, QR_SLICE_ALL, "dense.0.linear.weight" },
    { QR_W_DENSE_1, QR_SLICE_ALL, "dense.1.linear.weight" },
    { QR_W_DENSE_2, QR_SLICE_ALL, "dense.2.linear.weight" },
    { QR_W_DENSE_3, QR_SLICE_ALL, "dense.3.linear.weight" },
    { QR_W_DENSE_0_BIAS, QR_SLICE_ALL, "dense.0.linear.bias" },
    { QR_W_DENSE_1_BIAS, QR_SLICE_ALL, "dense.1.linear.bias" },
    { QR_W_DENSE_2_BIAS, QR_SLICE_ALL, "dense.2.linear.bias" },
    { QR_W_DENSE_3_BIAS, QR_SLICE_ALL, "dense.3.linear.bias" },
    { 0 },
};

/* Numbered like the modules of sentence-transformers, of which the first two are the transformer
 * and the pooling. */
const struct qr_name_rule qr_names_gguf_dense[] = {
    { QR_W_DENSE_0, QR_SLICE_ALL, "dense_2.weight" },
    { QR_W_DENSE_1, QR_SLICE_ALL, "dense_3.weight" },
    { 0 },
};

const struct qr_name_rule qr_names_hf_class[] = {
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "score.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "score.bias" },
    { 0 },
};
const struct qr_name_rule qr_names_gguf_class[] = {
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "cls.output.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "cls.output.bias" },
    { 0 },
};

void qr_rule_name(const struct qr_name_rule *rule, uint32_t layer, uint32_t expert,
                  char name[QR_NAME_MAX])
{
    const uint32_t numbers[] = { layer, expert };
    size_t n = 0, used = 0;
    for (const char *p = rule->pattern; *p && n + 12 < QR_NAME_MAX; p++) {
        uint32_t number;
        if (p[0] == '%' && p[1] == 'u' && used < 2) {
            number = numbers[used++];
        } else if (p[0] == '%' && p[1] == 'H') {
            number = layer / 2;
            used = 1;
        } else if (p[0] == '%' && p[1] == 'N') {
            number = layer + 1;
            used = 1;
        } else if (p[0] == '%' && p[1] == 'P') {
            number = layer % 2;
        } else {
            name[n++] = *p;
            continue;
        }
        n += (size_t)snprintf(name + n, QR_NAME_MAX - n, "%u", number);
        p++;
    }
    name[n] = 0;
}

/* Reads a number of at most 9 digits without leading zeros. */
static bool read_number(const char **p, uint32_t *out)
{
    const char *s = *p;
    uint32_t v = 0;
    for (; *s >= '0' && *s <= '9' && s - *p < 9; s++)
        v = v * 10 + (uint32_t)(*s - '0');
    if (s == *p || (**p == '0' && s - *p > 1) || (*s >= '0' && *s <= '9'))
        return false;
    *p = s;
    *out = v;
    return true;
}

bool qr_rule_match(const struct qr_name_rule *rule, const char *name, uint32_t *layer,
                   uint32_t *expert)
{
    uint32_t numbers[2] = { 0, 0 }, part = 0;
    int used = 0;
    bool pairs = false;
    for (const char *p = rule->pattern; *p; p++)
        if (p[0] == '%' && (p[1] == 'H' || p[1] == 'P' || (p[1] == 'u' && used < 2))) {
            uint32_t *number = p[1] == 'P' ? &part : &numbers[used++];
            pairs = pairs || p[1] == 'H';
            if (!read_number(&name, number))
                return false;
            p++;
        } else if (*p != *name++) {
            return false;
        }
    if (part > 1)
        return false;
    *layer = pairs ? 2 * numbers[0] + part : numbers[0];
    *expert = numbers[1];
    return *name == 0;
}

const struct qr_name_rule *qr_arch_name(const struct qr_name_rule *own,
                                        const struct qr_name_rule *common, enum qr_weight_role role,
                                        uint32_t layer, unsigned nth, char name[QR_NAME_MAX])
{
    const struct qr_name_rule *lists[] = { own, common };
    for (int l = 0; l < 2; l++)
        for (const struct qr_name_rule *r = lists[l]; r && r->pattern; r++)
            if (r->role == role && nth-- == 0) {
                qr_rule_name(r, layer, 0, name);
                return r;
            }
    return NULL;
}
