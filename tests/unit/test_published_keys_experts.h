/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_experts.h - rows of test_published_keys.h: mixtures of experts. */
#ifndef QR_TEST_PUBLISHED_KEYS_EXPERTS_H
#define QR_TEST_PUBLISHED_KEYS_EXPERTS_H

/* GroveMoE Inst, DBRX Instruct, Ling 3.0 tiny, Snowflake Arctic Instruct */
#define PUBLISHED_EXPERTS                                                                          \
    { "grove_moe", ",\"attention_bias\":false,\"attention_dropout\":0.0,\"decoder_sparse_ste"      \
                   "p\":1,\"head_dim\":128,\"hidden_act\":\"silu\",\"initializer_range\":0.0"      \
                   "2,\"max_window_layers\":48,\"mlp_only_layers\":[],\"moe_intermediate_siz"      \
                   "e\":768,\"norm_topk_prob\":true,\"num_experts\":128,\"num_experts_per_to"      \
                   "k\":8,\"output_router_logits\":false,\"rms_norm_eps\":1e-06,\"rope_scali"      \
                   "ng\":null,\"rope_theta\":1000000.0,\"router_aux_loss_coef\":0.001,\"slid"      \
                   "ing_window\":null,\"tie_word_embeddings\":false,\"use_cache\":true,\"use"      \
                   "_sliding_window\":false" },                                                    \
        { "dbrx", ",\"attn_config\":{\"clip_qkv\":8,\"kv_n_heads\":2,\"model_type\":\"\",\""       \
                  "rope_theta\":500000},\"emb_pdrop\":0.0,\"ffn_config\":{\"ffn_hidden_size"       \
                  "\":160,\"model_type\":\"\",\"moe_jitter_eps\":0.01,\"moe_loss_weight\":0"       \
                  ".05,\"moe_num_experts\":16,\"moe_top_k\":4},\"output_router_logits\":fal"       \
                  "se,\"resid_pdrop\":0.0,\"router_aux_loss_coef\":0.05,\"tie_word_embeddin"       \
                  "gs\":false" },                                                                  \
        { "bailing_hybrid",                                                                        \
          ",\"embedding_dropout\":0.0,\"expert_swiglu_limit_list\":null,\"first_k"                 \
          "_dense_replace\":1,\"gated_attention_proj_granularity_type\":\"head_wi"                 \
          "se\",\"group_norm_size\":1,\"head_dim\":128,\"hidden_act\":\"silu\",\""                 \
          "kda_lower_bound\":-5,\"kda_safe_gate\":true,\"kv_lora_rank\":512,\"lay"                 \
          "er_group_size\":4,\"linear_silu\":true,\"max_window_layers\":20,\"moe_"                 \
          "intermediate_size\":512,\"moe_router_enable_expert_bias\":true,\"moe_s"                 \
          "hared_expert_intermediate_size\":512,\"mtp_loss_scaling_factor\":0,\"m"                 \
          "tp_use_kda\":false,\"n_group\":8,\"no_kda_lora\":true,\"norm_topk_prob"                 \
          "\":true,\"num_experts\":128,\"num_experts_per_tok\":8,\"num_kv_heads_f"                 \
          "or_linear_attn\":0,\"num_nextn_predict_layers\":0,\"num_shared_experts"                 \
          "\":1,\"output_dropout\":0.0,\"output_router_logits\":false,\"partial_r"                 \
          "otary_factor\":0.5,\"q_lora_rank\":256,\"qk_head_dim\":192,\"qk_nope_h"                 \
          "ead_dim\":128,\"qk_rope_head_dim\":64,\"rms_norm_eps\":1e-06,\"rope_in"                 \
          "terleave\":true,\"rope_parameters\":{\"partial_rotary_factor\":0.5,\"r"                 \
          "ope_theta\":6000000,\"rope_type\":\"default\"},\"rope_theta\":6000000,"                 \
          "\"rotary_dim\":64,\"routed_scaling_factor\":2.5,\"router_dtype\":\"fp3"                 \
          "2\",\"scale_router_input\":false,\"score_function\":\"sigmoid\",\"scor"                 \
          "ing_func\":\"sigmoid\",\"seq_aux\":true,\"share_expert_swiglu_limit_li"                 \
          "st\":null,\"short_conv_kernel_size\":4,\"tie_word_embeddings\":false,"                  \
          "\"topk_group\":4,\"topk_method\":\"noaux_tc\",\"up_proj_norm\":false,"                  \
          "\"use_bias\":false,\"use_kda_lora\":false,\"use_mla_nope\":false,\"use"                 \
          "_nGPT\":false,\"use_qk_norm\":true,\"use_qkv_bias\":false,\"v_head_dim"                 \
          "\":128,\"value_norm\":false" },                                                         \
    {                                                                                              \
        "arctic", ",\"attention_dropout\":0,\"enable_expert_tensor_parallelism\":false,\"hi"       \
                  "dden_act\":\"silu\",\"max_sequence_length\":4096,\"moe_eval_capacity_fac"       \
                  "tor\":1,\"moe_layer_frequency\":1,\"moe_min_capacity\":0,\"moe_token_dro"       \
                  "pping\":true,\"moe_train_capacity_factor\":1,\"num_experts_per_tok\":2,"        \
                  "\"num_local_experts\":128,\"parallel_attn_mlp_res\":true,\"quantization"        \
                  "\":null,\"rms_norm_eps\":1e-05,\"rope_theta\":10000,\"router_aux_loss_co"       \
                  "ef\":0.001,\"sliding_window\":null,\"tie_word_embeddings\":false,\"use_c"       \
                  "ache\":true,\"use_residual\":true"                                              \
    }

#endif
