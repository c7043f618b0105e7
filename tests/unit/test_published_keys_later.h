/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_later.h - as test_published_keys.h, families that were added later. */
#ifndef QR_TEST_PUBLISHED_KEYS_LATER_H
#define QR_TEST_PUBLISHED_KEYS_LATER_H
#include "test_published_keys_decoders.h"
#include "test_published_keys_encoders.h"

#define NAS_BLOCK                                                                                  \
    "{\"attention\":{\"n_heads_in_group\":4,\"no_op\":false,\"num_sink_tokens\":null,"             \
    "\"replace_with_linear\":false,\"sparsify\":null,\"unshifted_sink\":false,"                    \
    "\"use_prefill_window_in_sink_attention\":false,\"window_length\":null},"                      \
    "\"ffn\":{\"ffn_mult\":5.25,\"no_op\":false,\"replace_with_linear\":false,\"sparsify\":null}}"

static const struct {
    const char *type, *keys;
} published_later[] = {
    { "apertus", /* Apertus 8B */
      ",\"attention_bias\":false,\"hidden_act\":\"xielu\",\"mlp_bias\":false,\"post_norm\":"
      "false,\"qk_norm\":true,\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"factor\":8.0,\"hig"
      "h_freq_factor\":4.0,\"low_freq_factor\":1.0,\"original_max_position_embeddings\":819"
      "2,\"rope_type\":\"llama3\"},\"rope_theta\":12000000,\"tie_word_embeddings\":false" },
    { "recurrent_gemma", /* RecurrentGemma 2B */
      ",\"attention_bias\":false,\"attention_window_size\":2048,\"block_types\":[\"recurren"
      "t\",\"recurrent\",\"attention\"],\"_block_types\":[\"recurrent\",\"recurrent\",\"att"
      "ention\"],\"conv1d_width\":4,\"embeddings_scale_by_sqrt_dim\":true,\"final_w_init_va"
      "riance_scale\":0.07692307692307693,\"head_dim\":16,\"hidden_activation\":\"gelu_pyto"
      "rch_tanh\",\"logits_soft_cap\":30.0,\"lru_width\":64,\"partial_rotary_factor\":0.5,"
      "\"rms_norm_eps\":1e-06,\"rope_theta\":10000.0,\"w_init_variance_scale\":0.01" },
    { "gemma3n_text", /* Gemma 3n E2B; its intermediate_size is a list */
      ",\"activation_sparsity_pattern\":[0.95,0.95,0.0,0.0],\"altup_active_idx\":0,\"altup_"
      "coef_clip\":120.0,\"altup_correct_scale\":true,\"altup_lr_multiplier\":1.0,\"altup_n"
      "um_inputs\":4,\"attention_bias\":false,\"final_logit_softcapping\":30.0,\"head_dim\""
      ":256,\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size_per_layer_input\":256"
      ",\"laurel_rank\":64,\"layer_types\":[\"sliding_attention\",\"full_attention\",\"slid"
      "ing_attention\",\"full_attention\"],\"num_kv_shared_layers\":2,\"query_pre_attn_scal"
      "ar\":256,\"rms_norm_eps\":1e-06,\"rope_local_base_freq\":10000.0,\"rope_scaling\":nu"
      "ll,\"rope_theta\":1000000.0,\"sliding_window\":512,\"vocab_size_per_layer_input\":26"
      "2144" },
    { "gemma4_text", /* Gemma 4 E2B */
      ",\"attention_bias\":false,\"attention_k_eq_v\":false,\"dtype\":\"bfloat16\",\"enable"
      "_moe_block\":false,\"expert_intermediate_size\":null,\"final_logit_softcapping\":30."
      "0,\"global_head_dim\":512,\"head_dim\":256,\"hidden_activation\":\"gelu_pytorch_tanh"
      "\",\"hidden_size_per_layer_input\":256,\"layer_types\":[\"sliding_attention\",\"full"
      "_attention\",\"sliding_attention\",\"full_attention\"],\"moe_intermediate_size\":nul"
      "l,\"num_experts\":null,\"num_global_key_value_heads\":null,\"num_kv_shared_layers\":"
      "2,\"rms_norm_eps\":1e-06,\"rope_parameters\":{\"full_attention\":{\"partial_rotary_f"
      "actor\":0.25,\"rope_theta\":1000000.0,\"rope_type\":\"proportional\"},\"sliding_atte"
      "ntion\":{\"rope_theta\":10000.0,\"rope_type\":\"default\"}},\"sliding_window\":512,"
      "\"tie_word_embeddings\":true,\"top_k_experts\":null,\"use_bidirectional_attention\":"
      "null,\"use_double_wide_mlp\":true,\"vocab_size_per_layer_input\":320" },
    { "gemma4_text", /* Gemma 4 26B-A4B */
      ",\"attention_bias\":false,\"attention_k_eq_v\":true,\"dtype\":\"bfloat16\",\"enable_"
      "moe_block\":true,\"final_logit_softcapping\":30.0,\"global_head_dim\":512,\"head_dim"
      "\":256,\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size_per_layer_input\":0"
      ",\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\","
      "\"full_attention\"],\"moe_intermediate_size\":704,\"num_experts\":128,\"num_global_k"
      "ey_value_heads\":2,\"num_kv_shared_layers\":0,\"rms_norm_eps\":1e-06,\"rope_paramete"
      "rs\":{\"full_attention\":{\"partial_rotary_factor\":0.25,\"rope_theta\":1000000.0,\""
      "rope_type\":\"proportional\"},\"sliding_attention\":{\"rope_theta\":10000.0,\"rope_t"
      "ype\":\"default\"}},\"sliding_window\":1024,\"tie_word_embeddings\":true,\"top_k_exp"
      "erts\":8,\"use_bidirectional_attention\":\"vision\",\"use_double_wide_mlp\":false,\""
      "vocab_size_per_layer_input\":262144" },
    { "hunyuan_v1_moe", /* HunYuan A13B */
      ",\"add_classification_head\":false,\"attention_bias\":false,\"attention_head_dim\":1"
      "6,\"cla_share_factor\":2,\"class_num\":0,\"dense_list\":[64,0],\"eod_token_id\":1279"
      "67,\"group_limited_greedy\":false,\"hidden_act\":\"silu\",\"im_end_id\":6,\"im_start"
      "_id\":5,\"kv_lora_rank\":null,\"mask_init_id\":13,\"mlp_bias\":false,\"moe_drop_toke"
      "ns\":false,\"moe_intermediate_size\":[160,160,160,160],\"moe_layer_num_skipped\":0,"
      "\"moe_random_routing_dropped_token\":false,\"moe_topk\":[2,2,2,2],\"n_group\":null,"
      "\"norm_topk_prob\":true,\"norm_type\":\"rms\",\"num_experts\":8,\"num_media_embeds\""
      ":257,\"num_shared_expert\":[1,1,1,1],\"org_vocab_size\":320,\"pad_id\":127961,\"pool"
      "_type\":\"last\",\"position_embedding_xdrope\":false,\"pretraining_tp\":1,\"q_lora_r"
      "ank\":null,\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"alpha\":1000.0,\"beta_fast\":3"
      "2,\"beta_slow\":1,\"factor\":1.0,\"mscale\":1.0,\"mscale_all_dim\":0.0,\"type\":\"dy"
      "namic\"},\"rope_theta\":10000.0,\"routed_scaling_factor\":1.0,\"skip_cls_token\":fal"
      "se,\"text_end_id\":8,\"tie_word_embeddings\":true,\"topk_group\":null,\"use_cla\":fa"
      "lse,\"use_mixed_mlp_moe\":true,\"use_mla\":false,\"use_qk_norm\":true,\"use_rotary_p"
      "os_emb\":true,\"v_head_dim\":null,\"video_end_id\":11" },
    { "hunyuan_v1_dense", /* HunYuan 7B */
      ",\"add_classification_head\":false,\"attention_bias\":false,\"attention_head_dim\":1"
      "6,\"cla_share_factor\":2,\"class_num\":0,\"dense_list\":[64,0],\"eod_token_id\":1279"
      "67,\"head_dim\":16,\"hidden_act\":\"silu\",\"im_end_id\":5,\"mask_init_id\":12,\"mlp"
      "_bias\":false,\"norm_type\":\"rms\",\"num_experts\":1,\"num_media_embeds\":257,\"org"
      "_vocab_size\":320,\"pool_type\":\"last\",\"pretraining_tp\":1,\"rms_norm_eps\":1e-05"
      ",\"rope_scaling\":{\"alpha\":1000.0,\"beta_fast\":32,\"beta_slow\":1,\"factor\":1.0,"
      "\"mscale\":1.0,\"mscale_all_dim\":1.0,\"type\":\"dynamic\"},\"rope_theta\":10000.0,"
      "\"skip_cls_token\":false,\"tie_word_embeddings\":true,\"use_cla\":false,\"use_qk_nor"
      "m\":true,\"use_rotary_pos_emb\":true" },
    { "nanochat", /* nanochat d32 */
      ",\"attention_bias\":false,\"final_logit_softcapping\":15.0,\"hidden_act\":\"relu2\","
      "\"rms_norm_eps\":1e-06,\"rope_parameters\":{\"rope_theta\":10000,\"rope_type\":\"def"
      "ault\"},\"tie_word_embeddings\":false" },
    { "phimoe", /* Phi-3.5-MoE */
      ",\"attention_bias\":true,\"hidden_act\":\"silu\",\"hidden_dropout\":0.0,\"input_jitt"
      "er_noise\":0.01,\"lm_head_bias\":true,\"num_experts_per_tok\":2,\"num_local_experts"
      "\":16,\"original_max_position_embeddings\":4096,\"output_router_logits\":false,\"rms"
      "_norm_eps\":1e-05,\"rope_scaling\":{\"long_factor\":[1,1,2,2,3,3,4,4],\"long_mscale"
      "\":1.243163121016122,\"original_max_position_embeddings\":4096,\"short_factor\":[1,1"
      ",1,1,1,1,1,2],\"short_mscale\":1.243163121016122,\"type\":\"longrope\"},\"rope_theta"
      "\":10000.0,\"router_aux_loss_coef\":0.0,\"router_jitter_noise\":0.01,\"sliding_windo"
      "w\":131072,\"tie_word_embeddings\":false" },
    { "granite_swa", /* Granite with windows */
      ",\"attention_bias\":false,\"attention_multiplier\":0.0078125,\"embedding_multiplier"
      "\":12.0,\"hidden_act\":\"silu\",\"layer_rope_theta\":[0,10000.0,10000.0,500000.0],\""
      "layer_types\":[\"full_attention\",\"sliding_attention\",\"sliding_attention\",\"full"
      "_attention\"],\"logits_scaling\":16.0,\"mlp_bias\":false,\"residual_multiplier\":0.2"
      "2,\"rms_norm_eps\":1e-05,\"rope_parameters\":{\"rope_theta\":10000.0,\"rope_type\":"
      "\"default\"},\"sliding_window\":128,\"tie_word_embeddings\":true" },
    { "granitemoe_swa", /* the same with experts */
      ",\"attention_bias\":false,\"attention_multiplier\":0.0078125,\"embedding_multiplier"
      "\":12.0,\"hidden_act\":\"silu\",\"layer_rope_theta\":[0,10000.0,10000.0,500000.0],\""
      "layer_types\":[\"full_attention\",\"sliding_attention\",\"sliding_attention\",\"full"
      "_attention\"],\"logits_scaling\":16.0,\"num_experts_per_tok\":2,\"num_local_experts"
      "\":8,\"output_router_logits\":false,\"residual_multiplier\":0.22,\"rms_norm_eps\":1e"
      "-05,\"rope_parameters\":{\"rope_theta\":10000.0,\"rope_type\":\"default\"},\"router_"
      "aux_loss_coef\":0.001,\"shared_intermediate_size\":32,\"sliding_window\":128,\"tie_w"
      "ord_embeddings\":true" },
    { "bitnet", /* BitNet b1.58 2B4T, bf16 weights */
      ",\"attention_bias\":false,\"hidden_act\":\"relu2\",\"rms_norm_eps\":1e-05,\"rope_the"
      "ta\":500000.0,\"tie_word_embeddings\":true" },
    { "minicpm", /* MiniCPM 2B and 4 */
      ",\"dim_model_base\":256,\"hidden_act\":\"silu\",\"mup_denominator\":32,\"rms_norm_ep"
      "s\":1e-05,\"rope_scaling\":null,\"scale_depth\":1.4,\"scale_emb\":12,\"tie_word_embe"
      "ddings\":false" },
    { "minicpm3", /* MiniCPM3 4B */
      ",\"attention_bias\":false,\"dim_model_base\":256,\"hidden_act\":\"silu\",\"kv_lora_r"
      "ank\":32,\"q_lora_rank\":48,\"qk_nope_head_dim\":16,\"qk_rope_head_dim\":8,\"rms_nor"
      "m_eps\":1e-05,\"rope_scaling\":{\"long_factor\":[1,1,2,2],\"original_max_position_em"
      "beddings\":512,\"short_factor\":[1,1,1,2],\"type\":\"longrope\"},\"scale_depth\":1.4"
      ",\"scale_emb\":12,\"tie_word_embeddings\":false" },
    { "smollm3", /* SmolLM3 3B */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"layer_types\":[\"full_attention"
      "\",\"full_attention\",\"full_attention\",\"full_attention\"],\"max_window_layers\":2"
      "8,\"mlp_bias\":false,\"no_rope_layer_interval\":4,\"no_rope_layers\":[1,1,1,0],\"pre"
      "training_tp\":2,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":5000000."
      "0,\"sliding_window\":null,\"use_sliding_window\":false" },
    { "exaone", /* EXAONE 3.5 */
      ",\"activation_function\":\"silu\",\"embed_dropout\":0.0,\"head_dim\":16,\"layer_norm"
      "_epsilon\":1e-05,\"num_layers\":4,\"rope_scaling\":{\"factor\":8.0,\"high_freq_facto"
      "r\":4.0,\"low_freq_factor\":1.0,\"original_max_position_embeddings\":8192,\"rope_typ"
      "e\":\"llama3\"},\"rope_theta\":1000000,\"tie_word_embeddings\":true" },
    { "exaone4", /* EXAONE 4 32B */
      ",\"head_dim\":16,\"hidden_act\":\"silu\",\"layer_types\":[\"sliding_attention\",\"sl"
      "iding_attention\",\"sliding_attention\",\"full_attention\"],\"rms_norm_eps\":1e-05,"
      "\"rope_scaling\":{\"factor\":16.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,"
      "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"},\"rope_theta\":1"
      "000000,\"sliding_window\":4096,\"sliding_window_pattern\":\"LLLG\",\"tie_word_embedd"
      "ings\":false" },
    { "glm4_moe", /* GLM-4.5 */
      ",\"attention_bias\":true,\"first_k_dense_replace\":3,\"head_dim\":16,\"hidden_act\":"
      "\"silu\",\"moe_intermediate_size\":32,\"n_group\":1,\"n_routed_experts\":16,\"n_shar"
      "ed_experts\":1,\"norm_topk_prob\":true,\"num_experts_per_tok\":8,\"num_nextn_predict"
      "_layers\":1,\"partial_rotary_factor\":0.5,\"rms_norm_eps\":1e-05,\"rope_scaling\":nu"
      "ll,\"rope_theta\":1000000,\"routed_scaling_factor\":2.5,\"tie_word_embeddings\":fals"
      "e,\"topk_group\":1,\"use_qk_norm\":true" },
    { "cohere", /* Command R+ */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"layer_norm_eps\":1e-05,\"logit_s"
      "cale\":0.8333333333333334,\"model_max_length\":131072,\"rope_theta\":75000000.0,\"us"
      "e_qk_norm\":true" },
    { "internlm2", /* InternLM2.5 */
      ",\"attn_implementation\":\"eager\",\"bias\":false,\"hidden_act\":\"silu\",\"pretrain"
      "ing_tp\":1,\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"factor\":2.0,\"type\":\"dynami"
      "c\"},\"rope_theta\":1000000,\"tie_word_embeddings\":false" },
    { "internlm3", /* InternLM3 8B */
      ",\"bias\":false,\"head_dim\":16,\"hidden_act\":\"silu\",\"qkv_bias\":false,\"rms_nor"
      "m_eps\":1e-05,\"rope_scaling\":{\"factor\":6.0,\"rope_type\":\"dynamic\"},\"rope_the"
      "ta\":50000000,\"tie_word_embeddings\":false" },
    { "orion", /* Orion 14B */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"max_sequence_length\":4096,\"pre"
      "training_tp\":1,\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":10000.0,"
      "\"tie_word_embeddings\":false" },
    { "qwen2_5_vl", /* Qwen2.5-VL 7B */
      ",\"attention_dropout\":0.0,\"bos_token_id\":5,\"hidden_act\":\"silu\",\"image"
      "_token_id\":151655,\"max_window_layers\":28,\"num_key_value_heads\":4,\"rms_norm_e"
      "ps\":1e-06,\"rope_scaling\":{\"mrope_section\":[2,3,3],\"type\":\"mrope\"},\"rope_"
      "theta\":1000000.0,\"sliding_window\":32768,\"tie_word_embeddings\":false,\"use_sli"
      "ding_window\":false,\"video_token_id\":151656,\"vision_config\":{\"depth\":32,\"hi"
      "dden_act\":\"silu\",\"hidden_size\":1280},\"vision_end_token_id\":151653,\"vision_"
      "start_token_id\":151652,\"vision_token_id\":151654" },
    { "qwen3_vl_text", /* Qwen3-VL 4B, text_config */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"dtype\":\"bfloat16\",\"head_"
      "dim\":16,\"hidden_act\":\"silu\",\"rms_norm_eps\":1e-06,\"rope_scaling\":{\"mrope_"
      "interleaved\":true,\"mrope_section\":[2,3,3],\"rope_type\":\"default\"},\"rope_the"
      "ta\":5000000,\"tie_word_embeddings\":true,\"use_cache\":true" },
    { "glm", /* GLM-4-9B-Chat */
      ",\"attention_bias\":true,\"attention_dropout\":0.0,\"head_dim\":16,\"hidden_act\":"
      "\"silu\",\"partial_rotary_factor\":0.5,\"rms_norm_eps\":1.5625e-07,\"rope_theta\":"
      "10000.0,\"tie_word_embeddings\":false" },
    { "bert", /* Jina Embeddings 2 */
      ",\"attention_probs_dropout_prob\":0.0,\"classifier_dropout\":null,\"emb_pooler\":\"mean"
      "\",\"feed_forward_type\":\"geglu\",\"gradient_checkpointing\":false,\"hidden_act\":\"gelu"
      "\",\"hidden_dropout_prob\":0.1,\"layer_norm_eps\":1e-12,\"model_max_length\":8192,\"posit"
      "ion_embedding_type\":\"alibi\",\"type_vocab_size\":2" },
    { "baichuan", /* Baichuan 2 7B */
      ",\"hidden_act\":\"silu\",\"initializer_range\":0.02,\"model_max_length\":4096,\"rms_nor"
      "m_eps\":1e-06,\"tie_word_embeddings\":false,\"z_loss_weight\":0" },
    { "xverse", /* XVERSE 13B */
      ",\"hidden_act\":\"silu\",\"max_tokenizer_truncation\":6144,\"rms_norm_eps\":1e-06,\""
      "rope_theta\":500000,\"tie_word_embeddings\":false" },
    { "bailing_moe", /* Ling-mini 2.0 */
      ",\"embedding_dropout\":0.0,\"first_k_dense_replace\":1,\"head_dim\":16,\"hidden_act"
      "\":\"silu\",\"max_window_layers\":20,\"moe_intermediate_size\":32,\"moe_router_enabl"
      "e_expert_bias\":true,\"n_group\":4,\"norm_head\":false,\"norm_softmax\":false,\"norm"
      "_topk_prob\":true,\"num_experts\":16,\"num_experts_per_tok\":8,\"num_nextn_predict_l"
      "ayers\":0,\"num_shared_experts\":1,\"output_dropout\":0.0,\"output_router_logits\":f"
      "alse,\"partial_rotary_factor\":0.5,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"ro"
      "pe_theta\":600000,\"rotary_dim\":64,\"routed_scaling_factor\":2.5,\"router_dtype\":"
      "\"fp32\",\"score_function\":\"sigmoid\",\"tie_word_embeddings\":false,\"topk_group\""
      ":4,\"use_bias\":false,\"use_qk_norm\":true,\"use_qkv_bias\":false,\"use_rmsnorm\":tr"
      "ue,\"using_split_qkv_in_self_attention\":false" },
    { "nomic_bert", /* Nomic Embed 1.5 */
      ",\"activation_function\":\"swiglu\",\"attn_pdrop\":0.0,\"causal\":false,\"dense_seq_"
      "output\":true,\"embd_pdrop\":0.0,\"fused_bias_fc\":true,\"fused_dropout_add_ln\":tru"
      "e,\"layer_norm_epsilon\":1e-12,\"max_trained_positions\":2048,\"mlp_fc1_bias\":false"
      ",\"mlp_fc2_bias\":false,\"n_embd\":64,\"n_head\":4,\"n_inner\":160,\"n_layer\":4,\"n"
      "_positions\":512,\"pad_vocab_size_multiple\":64,\"parallel_block\":false,\"parallel_"
      "block_tied_norm\":false,\"prenorm\":false,\"qkv_proj_bias\":false,\"reorder_and_upca"
      "st_attn\":false,\"resid_pdrop\":0.0,\"rotary_emb_base\":1000,\"rotary_emb_fraction\""
      ":1.0,\"rotary_emb_interleaved\":false,\"rotary_emb_scale_base\":null,\"rotary_scalin"
      "g_factor\":null,\"scale_attn_by_inverse_layer_idx\":false,\"scale_attn_weights\":tru"
      "e,\"summary_activation\":null,\"summary_type\":\"cls_index\",\"type_vocab_size\":2,"
      "\"use_flash_attn\":true,\"use_rms_norm\":false,\"use_xentropy\":true" },
    { "nomic_bert", /* Nomic Embed 2 */
      ",\"activation_function\":\"gelu\",\"add_pooling_layer\":false,\"attn_pdrop\":0.0,"
      "\"causal\":false,\"dense_seq_output\":true,\"embd_pdrop\":0.1,\"expert_choice_rout"
      "er\":false,\"ffn_div\":1,\"fused_bias_fc\":true,\"fused_dropout_add_ln\":true,\"la"
      "yer_norm_epsilon\":1e-05,\"max_trained_positions\":2048,\"mlp_fc1_bias\":true,\"ml"
      "p_fc2_bias\":true,\"moe_every_n_layers\":2,\"moe_impl\":\"megablocks\",\"moe_norma"
      "lize_expert_weights\":false,\"moe_resid_pdrop\":0.0,\"moe_top_k\":2,\"n_embd\":64,"
      "\"n_head\":4,\"n_inner\":160,\"n_layer\":4,\"n_positions\":512,\"num_experts\":8,"
      "\"num_shared_experts\":0,\"pad_vocab_size_multiple\":64,\"parallel_block\":false,"
      "\"parallel_block_tied_norm\":false,\"prenorm\":false,\"qkv_proj_bias\":true,\"reor"
      "der_and_upcast_attn\":false,\"resid_pdrop\":0.0,\"rotary_emb_base\":10000,\"rotary"
      "_emb_fraction\":1.0,\"rotary_emb_interleaved\":false,\"rotary_emb_scale_base\":nul"
      "l,\"rotary_scaling_factor\":null,\"router_aux_loss_coef\":0.1,\"scale_attn_by_inve"
      "rse_layer_idx\":false,\"scale_attn_weights\":true,\"summary_activation\":null,\"su"
      "mmary_type\":\"cls_index\",\"type_vocab_size\":1,\"use_flash_attn\":true,\"use_rms"
      "_norm\":null,\"use_xentropy\":true" },
    { "bailing_moe", /* Ling-lite 1.5 */
      ",\"embedding_dropout\":0.0,\"first_k_dense_replace\":0,\"hidden_act\":\"silu\",\"moe"
      "_intermediate_size\":32,\"norm_head\":false,\"norm_softmax\":false,\"norm_topk_prob"
      "\":true,\"num_experts\":16,\"num_experts_per_tok\":6,\"num_shared_experts\":2,\"outp"
      "ut_dropout\":0.0,\"output_router_logits\":false,\"pretraining_tp\":1,\"rms_norm_eps"
      "\":1e-06,\"rope_scaling\":null,\"rope_theta\":600000,\"tie_word_embeddings\":false,"
      "\"use_bias\":false,\"use_qkv_bias\":false" },
    { "zamba2", /* Zamba2 1.2B */
      ",\"adapter_rank\":128,\"add_bias_linear\":false,\"attention_head_dim\":32,\"attentio"
      "n_hidden_size\":128,\"chunk_size\":256,\"hidden_act\":\"gelu\",\"hybrid_layer_ids\":"
      "[1,3],\"kv_channels\":16,\"layers_block_type\":[\"mamba\",\"hybrid\",\"mamba\",\"hyb"
      "rid\"],\"mamba_d_conv\":4,\"mamba_d_state\":16,\"mamba_expand\":2,\"mamba_headdim\":"
      "16,\"mamba_ngroups\":1,\"n_mamba_heads\":8,\"num_logits_to_keep\":1,\"num_mem_blocks"
      "\":1,\"num_query_groups\":4,\"rms_norm_eps\":1e-05,\"rope_theta\":10000,\"time_step_"
      "floor\":0.0001,\"time_step_limit\":null,\"time_step_max\":0.1,\"time_step_min\":0.00"
      "1,\"use_conv_bias\":true,\"use_long_context\":false,\"use_mem_rope\":true,\"use_shar"
      "ed_attention_adapter\":true,\"use_shared_mlp_adapter\":true" },
    { "zamba2", /* Zamba2 7B */
      ",\"adapter_rank\":128,\"add_bias_linear\":false,\"attention_head_dim\":32,\"attentio"
      "n_hidden_size\":128,\"chunk_size\":256,\"hidden_act\":\"gelu\",\"hybrid_layer_ids\":"
      "[1,3],\"kv_channels\":16,\"layers_block_type\":[\"mamba\",\"hybrid\",\"mamba\",\"hyb"
      "rid\"],\"mamba_d_conv\":4,\"mamba_d_state\":16,\"mamba_expand\":2,\"mamba_headdim\":"
      "16,\"mamba_ngroups\":2,\"n_mamba_heads\":8,\"num_logits_to_keep\":1,\"num_mem_blocks"
      "\":2,\"num_query_groups\":4,\"rms_norm_eps\":1e-05,\"rope_theta\":10000,\"time_step_"
      "floor\":0.0001,\"time_step_limit\":null,\"time_step_max\":0.1,\"time_step_min\":0.00"
      "1,\"use_conv_bias\":true,\"use_long_context\":false,\"use_mem_rope\":true,\"use_shar"
      "ed_attention_adapter\":false,\"use_shared_mlp_adapter\":true,\"use_mamba_kernels\":t"
      "rue,\"ffn_hidden_size\":160" },
    { "mimo_v2_flash", /* MiMo V2 Flash */
      ",\"add_full_attention_sink_bias\":false,\"add_swa_attention_sink_bias\":true,\"atten"
      "tion_bias\":false,\"attention_chunk_size\":128,\"attention_value_scale\":0.707,\"hea"
      "d_dim\":24,\"hidden_act\":\"silu\",\"hybrid_block_size\":null,\"hybrid_layer_pattern"
      "\":[0,1,1,0],\"layernorm_epsilon\":1e-05,\"moe_intermediate_size\":32,\"moe_layer_fr"
      "eq\":[0,1,1,1],\"n_group\":1,\"n_routed_experts\":8,\"n_shared_experts\":null,\"norm"
      "_topk_prob\":true,\"num_experts_per_tok\":2,\"partial_rotary_factor\":0.334,\"rope_t"
      "heta\":5000000,\"routed_scaling_factor\":null,\"scoring_func\":\"sigmoid\",\"sliding"
      "_window\":128,\"sliding_window_size\":128,\"swa_head_dim\":24,\"swa_num_attention_he"
      "ads\":4,\"swa_num_key_value_heads\":4,\"swa_rope_theta\":10000,\"swa_v_head_dim\":16"
      ",\"tie_word_embeddings\":false,\"topk_group\":1,\"topk_method\":\"noaux_tc\",\"v_hea"
      "d_dim\":16" },
    { "laguna", /* Laguna XS 2.1 */
      ",\"attention_bias\":false,\"decoder_sparse_step\":1,\"gating\":\"per-head\",\"gating"
      "_types\":[\"per_head\",\"per_head\",\"per_head\",\"per_head\"],\"head_dim\":16,\"hid"
      "den_act\":\"silu\",\"layer_types\":[\"full_attention\",\"sliding_attention\",\"slidi"
      "ng_attention\",\"sliding_attention\"],\"mlp_layer_types\":[\"dense\",\"sparse\",\"sp"
      "arse\",\"sparse\"],\"mlp_only_layers\":[0],\"moe_apply_router_weight_on_input\":fals"
      "e,\"moe_intermediate_size\":32,\"moe_routed_scaling_factor\":2.5,\"moe_router_logit_"
      "softcapping\":0.0,\"norm_topk_prob\":true,\"num_attention_heads_per_layer\":[4,8,8,8"
      "],\"num_experts\":8,\"num_experts_per_tok\":2,\"qkv_bias\":false,\"rms_norm_eps\":1e"
      "-06,\"rope_parameters\":{\"full_attention\":{\"attention_factor\":1.0,\"beta_fast\":"
      "64.0,\"beta_slow\":1.0,\"factor\":32.0,\"original_max_position_embeddings\":4096,\"p"
      "artial_rotary_factor\":0.5,\"rope_theta\":500000.0,\"rope_type\":\"yarn\"},\"origina"
      "l_max_position_embeddings\":4096,\"sliding_attention\":{\"partial_rotary_factor\":1."
      "0,\"rope_theta\":10000.0,\"rope_type\":\"default\"}},\"router_aux_loss_coef\":0.0,\""
      "shared_expert_intermediate_size\":32,\"sliding_window\":512,\"swa_attention_sink_ena"
      "bled\":false,\"tie_word_embeddings\":false" },
    { "step3p5", /* Step 3.5 Flash, with four layers */
      ",\"att_impl_type\":\"GQA\",\"attention_other_setting\":{\"attention_type\":\"sliding_"
      "attention\",\"head_dim\":16,\"num_attention_groups\":2,\"num_attention_heads\":8,\"true_"
      "head_"
      "dim\":16},\"head_dim\":16,\"layer_types\":[\"full_attention\",\"sliding_attention\","
      "\"sliding_"
      "attention\",\"sliding_attention\",\"sliding_attention\"],\"max_seq_len\":262144,\"moe_every_"
      "n_"
      "layer\":1,\"moe_intermediate_size\":32,\"moe_layer_offset\":0,\"moe_layers_enum\":\"3\","
      "\"moe_"
      "num_experts\":8,\"moe_router_activation\":\"sigmoid\",\"moe_router_scaling_factor\":3.0,"
      "\"moe_"
      "top_k\":2,\"need_fp32_gate\":true,\"norm_expert_weight\":true,\"num_attention_groups\":2,"
      "\"num_"
      "nextn_predict_layers\":1,\"partial_rotary_factors\":[0.5,1.0,1.0,1.0,1.0],\"rms_norm_eps\":"
      "1e-"
      "05,\"rope_scaling\":{\"factor\":2.0,\"high_freq_factor\":32.0,\"low_freq_factor\":1.0,"
      "\"original_max_position_embeddings\":131072,\"rope_type\":\"llama3\"},\"rope_theta\":["
      "5000000.0,"
      "10000.0,10000.0,10000.0,10000.0],\"share_expert_dim\":32,\"sink\":false,\"sliding_window\":"
      "512,"
      "\"swiglu_limits\":[0.0,0.0,0.0,7,0.0],\"swiglu_limits_shared\":[0.0,0.0,0.0,16,0.0],\"use_"
      "head_"
      "wise_attn_gate\":true,\"use_moe\":true,\"use_moe_router_bias\":true,\"use_qk_norm\":true,"
      "\"use_"
      "rope_layers\":[],\"yarn_only_types\":[\"full_attention\"],\"zero_centered\":true" },
    { "mimo", /* MiMo 7B */
      ",\"attention_bias\":true,\"head_dim\":16,\"hidden_act\":\"silu\",\"max_window_layers"
      "\":36,\"num_nextn_predict_layers\":1,\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\""
      "rope_theta\":640000,\"sliding_window\":32768,\"tie_word_embeddings\":false,\"use_mro"
      "pe\":false,\"use_sliding_window\":false" },
    { "deepseek_v32", /* DeepSeek V3.2 */
      ",\"attention_bias\":false,\"ep_size\":1,\"first_k_dense_replace\":3,\"hidden_act\":"
      "\"silu\",\"index_head_dim\":128,\"index_n_heads\":64,\"index_topk\":2048,\"kv_lora_r"
      "ank\":512,\"moe_intermediate_size\":32,\"moe_layer_freq\":1,\"n_group\":4,\"n_routed"
      "_experts\":16,\"n_shared_experts\":1,\"norm_topk_prob\":true,\"num_experts_per_tok\""
      ":8,\"num_nextn_predict_layers\":1,\"q_lora_rank\":1536,\"qk_nope_head_dim\":128,\"qk"
      "_rope_head_dim\":64,\"rms_norm_eps\":1e-06,\"rope_scaling\":{\"beta_fast\":32,\"beta"
      "_slow\":1,\"factor\":40,\"mscale\":1.0,\"mscale_all_dim\":1.0,\"original_max_positio"
      "n_embeddings\":4096,\"type\":\"yarn\"},\"rope_theta\":10000,\"routed_scaling_factor"
      "\":2.5,\"scoring_func\":\"sigmoid\",\"tie_word_embeddings\":false,\"topk_group\":4,"
      "\"topk_method\":\"noaux_tc\",\"v_head_dim\":128" },
    { "glm_moe_dsa", /* GLM 5.2 */
      ",\"attention_bias\":false,\"ep_size\":1,\"first_k_dense_replace\":3,\"head_dim\":192"
      ",\"hidden_act\":\"silu\",\"index_head_dim\":128,\"index_n_heads\":32,\"index_share_f"
      "or_mtp_iteration\":true,\"index_skip_topk_offset\":3,\"index_topk\":2048,\"index_top"
      "k_freq\":4,\"index_topk_pattern\":null,\"indexer_rope_interleave\":true,\"indexer_ty"
      "pes\":[\"full\",\"full\",\"full\",\"shared\"],\"kv_lora_rank\":512,\"mlp_layer_types"
      "\":[\"dense\",\"dense\",\"dense\",\"sparse\"],\"moe_intermediate_size\":32,\"moe_lay"
      "er_freq\":1,\"moe_router_dtype\":\"float32\",\"n_group\":1,\"n_routed_experts\":16,"
      "\"n_shared_experts\":1,\"norm_topk_prob\":true,\"num_experts_per_tok\":8,\"num_nextn"
      "_predict_layers\":1,\"pretraining_tp\":1,\"q_lora_rank\":2048,\"qk_head_dim\":256,\""
      "qk_nope_head_dim\":192,\"qk_rope_head_dim\":64,\"rms_norm_eps\":1e-05,\"rope_interle"
      "ave\":true,\"rope_parameters\":{\"rope_theta\":8000000,\"rope_type\":\"default\"},\""
      "rope_theta\":8000000,\"routed_scaling_factor\":2.5,\"scoring_func\":\"sigmoid\",\"ti"
      "e_word_embeddings\":false,\"topk_group\":1,\"topk_method\":\"noaux_tc\",\"v_head_dim"
      "\":256" },
    { "minimax_m3_vl_text", /* text model of MiniMax M3 */
      ",\"attention_output_gate\":false,\"dense_intermediate_size\":96,\"head_dim\":16,\"hi"
      "dden_act\":\"swigluoai\",\"moe_layer_freq\":[0,1,1,1],\"n_shared_experts\":1,\"num_e"
      "xperts_per_tok\":2,\"num_local_experts\":8,\"num_mtp_modules\":7,\"num_nextn_predict"
      "_layers\":1,\"partial_rotary_factor\":0.5,\"qk_norm_type\":\"per_head\",\"rms_norm_e"
      "ps\":1e-06,\"rope_theta\":5000000,\"rotary_dim\":8,\"routed_scaling_factor\":2.0,\"s"
      "coring_func\":\"sigmoid\",\"shared_intermediate_size\":32,\"sparse_attention_config"
      "\":{\"sparse_attention_freq\":[0,1,1,1],\"sparse_block_size\":128,\"sparse_disable_i"
      "ndex_value\":[0,1,1,1],\"sparse_index_dim\":16,\"sparse_init_block\":0,\"sparse_loca"
      "l_block\":1,\"sparse_num_index_heads\":4,\"sparse_score_type\":\"max\",\"sparse_topk"
      "_blocks\":16,\"use_sparse_attention\":true},\"swiglu_alpha\":1.702,\"swiglu_beta\":1"
      ".0,\"swiglu_limit\":7.0,\"tie_word_embeddings\":false,\"use_gemma_norm\":true,\"use_"
      "qk_norm\":true,\"use_routing_bias\":true" },
    { "longcat_flash", /* LongCat Flash */
      ",\"attention_bias\":false,\"attention_method\":\"MLA\",\"expert_ffn_hidden_size\":32"
      ",\"ffn_hidden_size\":160,\"kv_lora_rank\":512,\"mla_scale_kv_lora\":true,\"mla_scale"
      "_q_lora\":true,\"moe_topk\":3,\"n_routed_experts\":8,\"num_layers\":4,\"q_lora_rank"
      "\":1536,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"rms_norm_eps\":1e-05,\"ro"
      "pe_theta\":10000000.0,\"routed_scaling_factor\":6.0,\"router_bias\":false,\"v_head_d"
      "im\":128,\"zero_expert_num\":4,\"zero_expert_type\":\"identity\"" },
    { "diffllama", /* DiffLlama 0.3B */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"lambda_std_dev\":0.1,\"pretraini"
      "ng_tp\":1,\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":10000.0,\"tie_"
      "word_embeddings\":false" },
    { "doge", /* Doge 160M */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"hidden_dropout\":0.0,\"is_moe\":"
      "false,\"keep_window_size\":2048,\"mlp_bias\":false,\"norm_topk_prob\":false,\"num_ex"
      "perts\":16384,\"num_experts_per_tok\":64,\"output_router_logits\":false,\"rms_norm_e"
      "ps\":1e-06,\"rope_scaling\":null,\"rope_theta\":10000.0,\"router_aux_loss_coef\":0.0"
      "01,\"sliding_window\":null,\"tie_word_embeddings\":true" },
    { "zaya", /* ZAYA1 8B, with the layers of the tests */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"cca_time0\":2,\"cca_time1\":2,\"hea"
      "d_dim\":16,\"hidden_act\":\"silu\",\"initializer_range\":0.02,\"layer_types\":[\"hybrid\","
      "\"hybrid\",\"hybrid\",\"hybrid\"],\"lm_head_bias\":false,\"moe_intermediate_size\":32,\"num"
      "_experts\":16,\"num_experts_per_tok\":1,\"output_router_logits\":false,\"rms_norm_eps\":1e-"
      "05,\"rope_parameters\":{\"hybrid\":{\"partial_rotary_factor\":0.5,\"rope_theta\":5000000.0,"
      "\""
      "rope_type\":\"default\"},\"hybrid_sliding\":{\"partial_rotary_factor\":0.5,\"rope_theta\":"
      "100"
      "00.0,\"rope_type\":\"default\"},\"rope_type\":\"default\"},\"router_hidden_size\":256,"
      "\"slidi"
      "ng_window\":null,\"tie_word_embeddings\":true" },
    { "qwen4_exp_text", /* Qwen3.8 Flash Next */
      ",\"attention_bias\":false,\"attn_output_gate\":true,\"eos_token_id\":2,\"full_atte"
      "ntion_interval\":4,\"hc_count\":4,\"hc_lowrank\":32,\"head_dim\":16,\"heads_per_ng"
      "ram\":8,\"hidden_act\":\"silu\",\"indexer_budget\":2048,\"indexer_compress_ratio\""
      ":4,\"indexer_head_dim\":128,\"indexer_kv_heads\":1,\"indexer_n_heads\":4,\"layer_t"
      "ypes\":[\"linear_attention\",\"linear_attention\",\"linear_attention\",\"full_atte"
      "ntion\"],\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":16,\"linear_num_key_"
      "heads\":2,\"linear_num_value_heads\":6,\"linear_value_head_dim\":16,\"make_ngram_v"
      "ocab_size_divisible_by\":128,\"mamba_ssm_dtype\":\"float32\",\"moe_intermediate_si"
      "ze\":32,\"mtp_num_hidden_layers\":1,\"mtp_use_dedicated_embeddings\":false,\"ngram"
      "_size\":3,\"ngram_vocab_size_base\":20000000,\"norm_topk_prob\":true,\"num_experts"
      "\":16,\"num_experts_per_tok\":10,\"output_gate_type\":\"sigmoid\",\"output_router_"
      "logits\":false,\"partial_rotary_factor\":0.25,\"ple_conv_kernel_size\":4,\"ple_emb"
      "ed_dim\":64,\"ple_layer_ids\":[2],\"rms_norm_eps\":1e-6,\"rope_parameters\":{\"mro"
      "pe_interleaved\":true,\"mrope_section\":[11,11,10],\"partial_rotary_factor\":0.25,"
      "\"rope_theta\":10000000,\"rope_type\":\"default\"},\"router_aux_loss_coef\":0.001,"
      "\"seed\":1234,\"shared_expert_intermediate_size\":32,\"split_ngram_parts\":128,\"t"
      "ie_word_embeddings\":false" },
    { "deepseek_v4", /* DeepSeek V4 Flash */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"compress_ratios\":[128,128,4"
      ",128,0],\"compress_rope_theta\":160000,\"hc_eps\":1e-06,\"hc_mult\":4,\"hc_sinkhor"
      "n_iters\":20,\"head_dim\":64,\"hidden_act\":\"silu\",\"index_head_dim\":128,\"inde"
      "x_n_heads\":64,\"index_topk\":512,\"moe_intermediate_size\":32,\"n_routed_experts"
      "\":16,\"n_shared_experts\":1,\"norm_topk_prob\":true,\"num_experts_per_tok\":6,\"n"
      "um_hash_layers\":3,\"num_nextn_predict_layers\":1,\"o_groups\":2,\"o_lora_rank\":3"
      "2,\"q_lora_rank\":32,\"qk_rope_head_dim\":16,\"rms_norm_eps\":1e-06,\"rope_scaling"
      "\":{\"beta_fast\":32,\"beta_slow\":1,\"factor\":16,\"original_max_position_embeddi"
      "ngs\":65536,\"type\":\"yarn\"},\"rope_theta\":10000,\"routed_scaling_factor\":1.5,"
      "\"scoring_func\":\"sqrtsoftplus\",\"sliding_window\":128,\"swiglu_limit\":10.0,\"t"
      "ie_word_embeddings\":false,\"topk_method\":\"noaux_tc\"" },
    { "hy_v3", /* Hy3 */
      ",\"enable_attention_fp32_softmax\":false,\"enable_lm_head_fp32\":true,\"enable_moe_f"
      "p32_combine\":false,\"eod_token_id\":26,\"expert_hidden_dim\":32,\"moe_intermediate_"
      "size\":32,\"first_k_dense_replace\":1,\"head_dim\":16,\"hidden_act\":\"silu\",\"moe_"
      "router_enable_expert_bias\":true,\"moe_router_use_sigmoid\":true,\"num_experts\":16,"
      "\"num_experts_per_tok\":8,\"num_shared_experts\":1,\"output_router_logits\":true,\"q"
      "k_norm\":true,\"rms_norm_eps\":1e-05,\"rope_parameters\":{\"rope_theta\":11158840.0,"
      "\"rope_type\":\"default\"},\"route_norm\":true,\"router_scaling_factor\":2.826,\"sep"
      "_token_id\":7,\"tie_word_embeddings\":false,\"use_grouped_mm\":false,\"num_nextn_pre"
      "dict_layers\":1" },
    { "mellum", /* Mellum 2 */
      ",\"attention_bias\":false,\"dtype\":\"bfloat16\",\"head_dim\":16,\"hidden_act\":\"si"
      "lu\",\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attentio"
      "n\",\"full_attention\"],\"max_window_layers\":0,\"mlp_layer_types\":[\"sparse\",\"sp"
      "arse\",\"sparse\",\"sparse\"],\"moe_intermediate_size\":32,\"norm_topk_prob\":true,"
      "\"num_experts\":16,\"num_experts_per_tok\":8,\"output_router_logits\":false,\"rms_no"
      "rm_eps\":1e-06,\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"yarn\",\"rop"
      "e_theta\":500000.0,\"factor\":16.0,\"original_max_position_embeddings\":8192,\"beta_"
      "fast\":32.0,\"beta_slow\":1.0,\"attention_factor\":1.2772588722239782},\"sliding_att"
      "ention\":{\"rope_type\":\"default\",\"rope_theta\":500000.0}},\"router_aux_loss_coef"
      "\":0.001,\"sliding_window\":1024,\"tie_word_embeddings\":false,\"use_sliding_window"
      "\":true" },
    { "solar_open", /* Solar Open 100B */
      ",\"partial_rotary_factor\":1.0,\"head_dim\":16,\"hidden_act\":\"silu\",\"moe_interme"
      "diate_size\":32,\"rms_norm_eps\":1e-05,\"rope_theta\":1000000,\"n_routed_experts\":1"
      "6,\"n_shared_experts\":1,\"norm_topk_prob\":true,\"routed_scaling_factor\":1.0,\"num"
      "_experts_per_tok\":8,\"tie_word_embeddings\":false,\"first_k_dense_replace\":0,\"rop"
      "e_scaling\":{\"type\":\"yarn\",\"factor\":2.0,\"original_max_position_embeddings\":6"
      "5536}" },
    { "smallthinker", /* SmallThinker 4B-A0.6B Instruct, with four layers like those of 21B-A3B */
      ",\"attention_dropout\":0.0,\"head_dim\":16,\"max_length\":null,\"model_name\":\"smallth"
      "inker_4b_instruct\",\"moe_ffn_hidden_size\":32,\"moe_num_active_primary_experts\":4,\"m"
      "oe_num_primary_experts\":16,\"norm_topk_prob\":true,\"output_router_logits\":false,\"r"
      "epetition_penalty\":null,\"rms_norm_eps\":1e-06,\"rope_layout\":[0,1,1,1],\"rope_scalin"
      "g\":null,\"rope_theta\":1.5e6,\"sliding_window_size\":4096,\"sliding_window_layout\":[0,"
      "1,1,1],\"temperature\":null,\"tie_word_embeddings\":true,\"top_p\":null,\"use_cache\":"
      "false" },
    { "cohere2_moe", /* North Mini Code 1.0, with four layers */
      ",\"attention_bias\":false,\"expert_selection_fn\":\"sigmoid\",\"first_k_dense_replace\":1,"
      "\"head"
      "_dim\":16,\"hidden_act\":\"silu\",\"layer_norm_eps\":1e-05,\"layer_types\":[\"full_"
      "attention\",\"sl"
      "iding_attention\",\"sliding_attention\",\"full_attention\"],\"logit_scale\":1.0,\"norm_topk_"
      "prob"
      "\":false,\"num_experts\":16,\"num_experts_per_tok\":8,\"num_shared_experts\":0,\"prefix_"
      "dense_in"
      "termediate_size\":96,\"prefix_dense_sliding_window_pattern\":1,\"rms_norm_eps\":1e-06,"
      "\"rope_the"
      "ta\":50000,\"sliding_window\":4096,\"tie_word_embeddings\":null,\"use_gated_activation\":"
      "true,"
      "\"use_parallel_block\":true,\"use_qk_norm\":false" },
    { "nanbeige", /* Nanbeige 4.2 3B */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"head_dim\":32,\"hidden_act\":\"silu\","
      "\"kv_channels\":32,\"loop_loss_weights\":[],\"num_loops\":2,\"pretraining_tp\":1,"
      "\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":70000000,"
      "\"skip_loop_final_norm\":false,\"tie_word_embeddings\":false" },
    { "llama_bidirec", /* Llama Nemotron Embed 1B v2 */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"head_dim\":16,\"hidden_act\":\"silu\","
      "\"mlp_bias\":false,\"pooling\":\"avg\",\"pretraining_tp\":1,\"rms_norm_eps\":1e-05,\"rope_"
      "scaling\":{\"factor\":32.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,\"original_"
      "max_position_embeddings\":8192,\"rope_type\":\"llama3\"},\"rope_theta\":500000.0,"
      "\"temperature\":0.02,\"tie_word_embeddings\":true,\"use_cache\":true" },
    { "nemotron-nas", /* Llama 3.3 Nemotron Super 49B v1.5, with four layers */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"block_configs\":[" NAS_BLOCK
      "," NAS_BLOCK "," NAS_BLOCK "," NAS_BLOCK "],\"hidden_act\":\"silu\",\"initializer_"
      "range\":0.02,\"mlp_bias\":false,\"pretraining_tp\":1,\"rms_norm_eps\":1e-05,\"rope_"
      "scaling\":{\"factor\":16.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,\"original_"
      "max_position_embeddings\":8192,\"rope_type\":\"llama3\"},\"rope_theta\":500000.0,\"tie_word_"
      "embeddings\":false,\"use_cache\":true" },
    { "PanguEmbedded", /* openPangu Embedded 7B */
      ",\"bias\":true,\"hidden_act\":\"silu\",\"rms_norm_eps\":1e-05,\"rope_theta\":1600000"
      "0.0,\"tie_word_embeddings\":false" },
    PUBLISHED_DECODERS,
    PUBLISHED_ENCODERS,
};

#endif
