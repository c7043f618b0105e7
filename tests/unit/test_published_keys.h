/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys.h - keys of config.json of published models, by model_type. */
#ifndef QR_TEST_PUBLISHED_KEYS_H
#define QR_TEST_PUBLISHED_KEYS_H
#include "test_published_keys_experts.h"

/* Keys of published models: names and values that matter, without sizes, token ids and names of
 * writers, which TODAY repeats. */
#define TODAY                                                                                      \
    ",\"_name_or_path\":\"x\",\"architectures\":[\"XForCausalLM\"],\"auto_map\":{\"A\":\"b\"},"    \
    "\"bos_token_id\":1,\"eos_token_id\":2,\"pad_token_id\":0,\"initializer_range\":0.02,"         \
    "\"torch_dtype\":\"bfloat16\",\"transformers_version\":\"4.48.0\",\"use_cache\":true,"         \
    "\"attention_dropout\":0.1,\"max_position_embeddings\":512"

static const struct {
    const char *type, *keys;
} published[] = {
    { "llama", /* Llama 2, 3.2 and fine-tuned copies */
      ",\"attention_bias\":false,\"mlp_bias\":false,\"head_dim\":16,\"hidden_act\":\"silu\","
      "\"pretraining_tp\":1,\"rms_norm_eps\":1e-5,\"rope_theta\":500000.0,\"rope_scaling\":{"
      "\"factor\":32.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,"
      "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"},"
      "\"tie_word_embeddings\":true,\"unsloth_fixed\":true,\"max_sequence_length\":2048,"
      "\"_attn_implementation_autoset\":true,\"quantization_config\":null" },
    { "mistral", ",\"hidden_act\":\"silu\",\"rms_norm_eps\":1e-5,\"rope_theta\":1e6,"
                 "\"sliding_window\":null,\"tie_word_embeddings\":false,\"head_dim\":16" },
    { "mixtral", ",\"hidden_act\":\"silu\",\"num_experts_per_tok\":2,\"num_local_experts\":8,"
                 "\"output_router_logits\":false,\"router_aux_loss_coef\":0.02,"
                 "\"router_jitter_noise\":0.0,\"rms_norm_eps\":1e-5,\"sliding_window\":null" },
    { "qwen", ",\"attn_dropout_prob\":0.0,\"bf16\":false,\"emb_dropout_prob\":0.0,\"fp16\":false,"
              "\"fp32\":false,\"kv_channels\":16,\"layer_norm_epsilon\":1e-6,\"no_bias\":true,"
              "\"onnx_safe\":null,\"rotary_emb_base\":10000,\"rotary_pct\":1.0,"
              "\"scale_attn_weights\":true,\"seq_length\":256,\"softmax_in_fp32\":false,"
              "\"tie_word_embeddings\":false,\"tokenizer_class\":\"QWenTokenizer\","
              "\"use_cache_kernel\":false,\"use_cache_quantization\":false,"
              "\"use_dynamic_ntk\":true,\"use_flash_attn\":\"auto\",\"use_logn_attn\":true" },
    { "qwen2", ",\"hidden_act\":\"silu\",\"max_window_layers\":70,\"rms_norm_eps\":1e-6,"
               "\"rope_theta\":1e6,\"sliding_window\":131072,\"use_sliding_window\":false,"
               "\"use_mrope\":false,\"rope_scaling\":null,\"tie_word_embeddings\":false" },
    { "qwen2_moe", ",\"hidden_act\":\"silu\",\"decoder_sparse_step\":1,\"max_window_layers\":21,"
                   "\"moe_intermediate_size\":1408,\"norm_topk_prob\":false,\"num_experts\":60,"
                   "\"num_experts_per_tok\":4,\"output_router_logits\":false,"
                   "\"router_aux_loss_coef\":0.001,\"shared_expert_intermediate_size\":5632,"
                   "\"sliding_window\":32768,\"use_sliding_window\":false,\"qkv_bias\":true,"
                   "\"mlp_only_layers\":[]" },
    { "qwen3", ",\"attention_bias\":false,\"head_dim\":128,\"hidden_act\":\"silu\","
               "\"max_window_layers\":36,\"rms_norm_eps\":1e-6,\"rope_scaling\":null,"
               "\"rope_theta\":1000000,\"sliding_window\":null,\"use_sliding_window\":false,"
               "\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\","
               "\"full_attention\"]" },
    { "qwen3_moe", ",\"attention_bias\":false,\"decoder_sparse_step\":1,\"head_dim\":128,"
                   "\"max_window_layers\":48,\"mlp_only_layers\":[],\"moe_intermediate_size\":768,"
                   "\"norm_topk_prob\":true,\"num_experts\":128,\"num_experts_per_tok\":8,"
                   "\"output_router_logits\":false,\"router_aux_loss_coef\":0.001,"
                   "\"sliding_window\":null,\"use_sliding_window\":false" },
    { "gemma", ",\"head_dim\":256,\"hidden_act\":\"gelu\",\"hidden_activation\":null,"
               "\"rms_norm_eps\":1e-6,\"attention_bias\":false,\"rope_scaling\":null" },
    { "gemma2", ",\"attn_logit_softcapping\":50.0,\"cache_implementation\":\"hybrid\","
                "\"final_logit_softcapping\":30.0,\"head_dim\":256,\"hidden_act\":"
                "\"gelu_pytorch_tanh\",\"hidden_activation\":\"gelu_pytorch_tanh\","
                "\"query_pre_attn_scalar\":256,\"sliding_window\":4096,\"attention_bias\":false" },
    { "gemma3_text", ",\"attn_logit_softcapping\":null,\"cache_implementation\":\"hybrid\","
                     "\"final_logit_softcapping\":null,\"head_dim\":256,\"query_pre_attn_scalar\":"
                     "256,\"rope_local_base_freq\":10000,\"rope_scaling\":null,\"rope_theta\":"
                     "1000000,\"sliding_window\":512,\"sliding_window_pattern\":6,"
                     "\"hidden_activation\":\"gelu_pytorch_tanh\",\"attention_bias\":false" },
    { "phi", ",\"embd_pdrop\":0.0,\"resid_pdrop\":0.1,\"hidden_act\":\"gelu_new\","
             "\"layer_norm_eps\":1e-5,\"partial_rotary_factor\":0.5,\"qk_layernorm\":false,"
             "\"rope_scaling\":null,\"rope_theta\":10000.0" },
    { "phi3", ",\"attention_bias\":false,\"embd_pdrop\":0.0,\"full_attn_mod\":1,"
              "\"interpolate_factor\":1,\"lm_head_bias\":false,\"mlp_bias\":false,"
              "\"original_max_position_embeddings\":4096,\"partial_rotary_factor\":1.0,"
              "\"resid_pdrop\":0.0,\"rope_scaling\":null,\"sliding_window\":2047" },
    { "granite", ",\"attention_bias\":false,\"attention_multiplier\":0.0078125,"
                 "\"embedding_multiplier\":12.0,\"logits_scaling\":16.0,\"mlp_bias\":false,"
                 "\"residual_multiplier\":0.22,\"rope_scaling\":null" },
    { "granitemoe", ",\"attention_multiplier\":0.015625,\"embedding_multiplier\":12.0,"
                    "\"logits_scaling\":6.0,\"residual_multiplier\":0.22,\"num_local_experts\":32,"
                    "\"num_experts_per_tok\":8,\"output_router_logits\":false,"
                    "\"router_aux_loss_coef\":0.0,\"attention_bias\":false" },
    { "gpt2", ",\"activation_function\":\"gelu_new\",\"attn_pdrop\":0.1,\"embd_pdrop\":0.1,"
              "\"layer_norm_epsilon\":1e-5,\"n_ctx\":1024,\"n_embd\":64,\"n_head\":4,"
              "\"n_layer\":4,\"n_positions\":512,\"resid_pdrop\":0.1,\"summary_activation\":null,"
              "\"summary_first_dropout\":0.1,\"summary_proj_to_labels\":true,\"summary_type\":"
              "\"cls_index\",\"summary_use_proj\":true,\"task_specific_params\":{"
              "\"text-generation\":{\"do_sample\":true,\"max_length\":50}},"
              "\"reorder_and_upcast_attn\":true,\"scale_attn_weights\":true,\"n_inner\":160" },
    { "gpt_bigcode", ",\"activation_function\":\"gelu_pytorch_tanh\",\"attention_softmax_in_fp32\":"
                     "true,\"inference_runner\":0,\"multi_query\":true,\"n_embd\":64,\"n_head\":4,"
                     "\"n_inner\":160,\"n_layer\":4,\"n_positions\":512,\"pre_allocate_kv_cache\":"
                     "true,\"scale_attention_softmax_in_fp32\":true,\"scale_attn_weights\":true,"
                     "\"summary_type\":\"cls_index\",\"validate_runner_input\":true,"
                     "\"runner_max_sequence_length\":null,\"max_batch_size\":null" },
    { "kclgpt", /* CodeShell */
      ",\"activation_function\":\"gelu_pytorch_tanh\",\"attention_softmax_in_fp32\":true,"
      "\"attn_pdrop\":0.1,\"embd_pdrop\":0.1,\"group_query_attention\":true,"
      "\"layer_norm_epsilon\":1e-5,\"n_embd\":64,\"n_head\":4,\"n_inner\":160,\"n_layer\":4,"
      "\"n_positions\":512,\"num_query_groups\":2,\"position_embedding_type\":\"rope\","
      "\"resid_pdrop\":0.1,\"rope_scaling\":null,\"scale_attention_softmax_in_fp32\":true,"
      "\"scale_attn_weights\":true" },
    { "gpt_neo", ",\"activation_function\":\"gelu_new\",\"attention_layers\":[\"global\",\"local\","
                 "\"global\",\"local\"],\"attention_types\":[[[\"global\",\"local\"],2]],"
                 "\"embed_dropout\":0.0,\"layer_norm_epsilon\":1e-5,\"num_heads\":4,\"num_layers\":"
                 "4,\"resid_dropout\":0,\"window_size\":256,\"gradient_checkpointing\":false" },
    { "gpt_neox", ",\"classifier_dropout\":0.1,\"hidden_act\":\"gelu\",\"hidden_dropout\":0.0,"
                  "\"layer_norm_eps\":1e-5,\"rotary_emb_base\":10000,\"rotary_pct\":0.25,"
                  "\"use_parallel_residual\":true,\"attention_bias\":true,\"rope_scaling\":null" },
    { "gptj", ",\"activation_function\":\"gelu_new\",\"attn_pdrop\":0.0,\"n_embd\":64,\"n_head\":4,"
              "\"n_inner\":160,\"n_layer\":4,\"n_positions\":512,\"rotary\":true,\"rotary_dim\":8,"
              "\"scale_attn_weights\":true,\"gradient_checkpointing\":false,\"summary_type\":"
              "\"cls_index\",\"tokenizer_class\":\"GPT2Tokenizer\"" },
    { "bloom", ",\"apply_residual_connection_post_layernorm\":false,\"attention_softmax_in_fp32\":"
               "true,\"bias_dropout_fusion\":true,\"hidden_dropout\":0.0,\"masked_softmax_fusion\":"
               "true,\"n_embed\":64,\"n_inner\":null,\"n_layer\":4,\"num_attention_heads\":4,"
               "\"offset_alibi\":100,\"pretraining_tp\":1,\"seq_length\":512,\"skip_bias_add\":"
               "true,\"skip_bias_add_qkv\":false,\"unk_token_id\":0" },
    { "falcon",
      ",\"alibi\":false,\"bias\":false,\"hidden_dropout\":0.0,\"layer_norm_epsilon\":1e-5,"
      "\"multi_query\":true,\"new_decoder_architecture\":false,\"num_kv_heads\":71,"
      "\"parallel_attn\":true,\"rope_scaling\":null,\"rope_theta\":10000.0" },
    { "mpt", ",\"attn_config\":{\"alibi\":true,\"alibi_bias_max\":8,\"attn_impl\":\"torch\","
             "\"attn_pdrop\":0,\"attn_type\":\"multihead_attention\",\"attn_uses_sequence_id\":"
             "false,\"clip_qkv\":null,\"prefix_lm\":false,\"qk_ln\":false,\"softmax_scale\":null},"
             "\"d_model\":64,\"emb_pdrop\":0,\"embedding_fraction\":1.0,\"expansion_ratio\":4,"
             "\"init_config\":{\"name\":\"kaiming_normal_\"},\"init_device\":\"cpu\","
             "\"learned_pos_emb\":true,\"logit_scale\":null,\"max_seq_len\":512,\"n_heads\":4,"
             "\"n_layers\":4,\"no_bias\":true,\"norm_type\":\"low_precision_layernorm\","
             "\"resid_pdrop\":0,\"tokenizer_name\":\"x\",\"verbose\":0" },
    { "opt", ",\"_remove_final_layer_norm\":false,\"activation_dropout\":0.0,"
             "\"activation_function\":\"relu\",\"do_layer_norm_before\":true,\"dropout\":0.1,"
             "\"enable_bias\":true,\"ffn_dim\":160,\"init_std\":0.02,"
             "\"layer_norm_elementwise_affine\":true,\"layerdrop\":0.0,\"prefix\":\"</s>\","
             "\"word_embed_proj_dim\":64" },
    { "cohere2", ",\"attention_bias\":false,\"cache_implementation\":\"hybrid\",\"head_dim\":16,"
                 "\"layer_norm_eps\":1e-5,\"layer_switch\":4,\"logit_scale\":0.25,"
                 "\"order_of_interleaved_layers\":\"local_attn_first\",\"position_embedding_type\":"
                 "\"rope_gptj\",\"rotary_pct\":1.0,\"rope_scaling\":null,\"sliding_window\":4096,"
                 "\"sliding_window_pattern\":4,\"use_embedding_sharing\":true,"
                 "\"use_gated_activation\":true,\"use_parallel_block\":true,"
                 "\"use_parallel_embedding\":false,\"use_qk_norm\":false" },
    { "olmo", ",\"attention_bias\":false,\"clip_qkv\":null,\"hidden_act\":\"silu\","
              "\"rope_scaling\":null,\"pretraining_tp\":1" },
    { "olmo2", ",\"attention_bias\":false,\"rms_norm_eps\":1e-6,\"rope_scaling\":null" },
    { "olmo3", ",\"attention_bias\":false,\"layer_types\":[\"sliding_attention\","
               "\"sliding_attention\",\"sliding_attention\",\"full_attention\"],\"rope_scaling\":{"
               "\"attention_factor\":1.2079441541679836,\"beta_fast\":32.0,\"beta_slow\":1.0,"
               "\"factor\":8.0,\"original_max_position_embeddings\":8192,\"rope_type\":\"yarn\"},"
               "\"sliding_window\":4096" },
    { "olmoe", ",\"attention_bias\":false,\"clip_qkv\":null,\"norm_topk_prob\":false,"
               "\"num_experts\":64,\"num_experts_per_tok\":8,\"output_router_logits\":false,"
               "\"router_aux_loss_coef\":0.01,\"rope_scaling\":null" },
    { "nemotron", ",\"attention_bias\":false,\"head_dim\":16,\"hidden_act\":\"relu2\","
                  "\"mlp_bias\":false,\"norm_eps\":1e-5,\"layer_norm_eps\":1e-5,"
                  "\"kv_channels\":16,\"partial_rotary_factor\":0.5" },
    { "stablelm", ",\"hidden_act\":\"silu\",\"hidden_dropout\":0.0,\"layer_norm_eps\":1e-5,"
                  "\"partial_rotary_factor\":0.25,\"qk_layernorm\":true,\"rope_theta\":10000,"
                  "\"use_parallel_residual\":true,\"use_qkv_bias\":false" },
    { "starcoder2", ",\"embedding_dropout\":0.1,\"hidden_act\":\"gelu_pytorch_tanh\",\"mlp_type\":"
                    "\"default\",\"norm_epsilon\":1e-5,\"norm_type\":\"layer_norm\","
                    "\"residual_dropout\":0.1,\"sliding_window\":4096,\"use_bias\":true" },
    { "ernie4_5", ",\"head_dim\":128,\"use_bias\":false,\"compression_ratio\":1.0" },
    { "glm4", ",\"attention_bias\":true,\"head_dim\":16,\"partial_rotary_factor\":0.5,"
              "\"rope_theta\":10000.0,\"eos_token_id\":[1,2]" },
    { "gpt_oss",
      ",\"attention_bias\":true,\"experts_per_token\":4,\"head_dim\":64,"
      "\"initial_context_length\":4096,\"layer_types\":[\"sliding_attention\","
      "\"full_attention\",\"sliding_attention\",\"full_attention\"],"
      "\"num_experts_per_tok\":4,\"num_local_experts\":32,\"output_router_logits\":"
      "false,\"rope_scaling\":{\"beta_fast\":32.0,\"beta_slow\":1.0,\"factor\":32.0,"
      "\"original_max_position_embeddings\":4096,\"rope_type\":\"yarn\",\"truncate\":"
      "false},\"router_aux_loss_coef\":0.9,\"sliding_window\":128,\"swiglu_limit\":7.0" },
    { "llama4_text",
      ",\"attention_chunk_size\":8192,\"attn_scale\":0.1,\"attn_temperature_tuning\":true,"
      "\"floor_scale\":8192,\"for_llm_compressor\":false,\"head_dim\":16,"
      "\"interleave_moe_layer_step\":1,\"intermediate_size_mlp\":320,\"moe_layers\":[0,1,2,3],"
      "\"no_rope_layers\":[1,1,1,0],\"no_rope_layer_interval\":4,\"num_experts_per_tok\":1,"
      "\"num_local_experts\":16,\"router_aux_loss_coef\":0.001,\"router_jitter_noise\":0.0,"
      "\"use_qk_norm\":true,\"cache_implementation\":\"hybrid\"" },
    { "deepseek_v2", ",\"aux_loss_alpha\":0.001,\"ep_size\":1,\"first_k_dense_replace\":1,"
                     "\"kv_lora_rank\":32,\"moe_intermediate_size\":32,\"moe_layer_freq\":1,"
                     "\"n_group\":1,\"n_routed_experts\":8,\"n_shared_experts\":2,"
                     "\"norm_topk_prob\":false,\"num_experts_per_tok\":2,\"pretraining_tp\":1,"
                     "\"q_lora_rank\":null,\"qk_nope_head_dim\":16,\"qk_rope_head_dim\":8,"
                     "\"routed_scaling_factor\":1.0,\"scoring_func\":\"softmax\",\"seq_aux\":true,"
                     "\"topk_group\":1,\"topk_method\":\"greedy\",\"v_head_dim\":16,"
                     "\"rope_scaling\":{\"beta_fast\":32,\"beta_slow\":1,\"factor\":40,\"mscale\":"
                     "0.707,\"mscale_all_dim\":0.707,\"original_max_position_embeddings\":4096,"
                     "\"type\":\"yarn\"}" },
    { "deepseek_v3",
      ",\"attention_bias\":false,\"ep_size\":1,\"first_k_dense_replace\":3,"
      "\"kv_lora_rank\":32,\"moe_intermediate_size\":32,\"moe_layer_freq\":1,"
      "\"n_group\":8,\"n_routed_experts\":16,\"n_shared_experts\":1,"
      "\"norm_topk_prob\":true,\"num_experts_per_tok\":2,"
      "\"num_nextn_predict_layers\":1,\"q_lora_rank\":16,\"qk_nope_head_dim\":16,"
      "\"qk_rope_head_dim\":8,\"routed_scaling_factor\":2.5,\"scoring_func\":"
      "\"sigmoid\",\"topk_group\":4,\"topk_method\":\"noaux_tc\",\"v_head_dim\":16" },
    { "bert",
      ",\"attention_probs_dropout_prob\":0.1,\"classifier_dropout\":null,\"directionality\":"
      "\"bidi\",\"gradient_checkpointing\":false,\"hidden_act\":\"gelu\","
      "\"hidden_dropout_prob\":0.1,\"id2label\":{\"0\":\"LABEL_0\"},\"label2id\":{"
      "\"LABEL_0\":0},\"layer_norm_eps\":1e-12,\"pooler_fc_size\":768,\"pooler_type\":"
      "\"first_token_transform\",\"position_embedding_type\":\"absolute\","
      "\"type_vocab_size\":2" },
    { "xlm-roberta", ",\"attention_probs_dropout_prob\":0.1,\"classifier_dropout\":null,"
                     "\"layer_norm_eps\":1e-5,\"output_past\":true,\"position_embedding_type\":"
                     "\"absolute\",\"type_vocab_size\":1" },
    { "modernbert",
      ",\"attention_bias\":false,\"classifier_activation\":\"gelu\","
      "\"classifier_bias\":false,\"classifier_dropout\":0.0,\"classifier_pooling\":"
      "\"mean\",\"cls_token_id\":3,\"decoder_bias\":true,\"deterministic_flash_attn\":"
      "false,\"embedding_dropout\":0.0,\"global_attn_every_n_layers\":3,"
      "\"global_rope_theta\":160000.0,\"gradient_checkpointing\":false,"
      "\"hidden_activation\":\"gelu\",\"initializer_cutoff_factor\":2.0,"
      "\"layer_norm_eps\":1e-5,\"local_attention\":128,\"local_rope_theta\":10000.0,"
      "\"mlp_bias\":false,\"mlp_dropout\":0.0,\"norm_bias\":false,\"norm_eps\":1e-5,"
      "\"position_embedding_type\":\"absolute\",\"reference_compile\":null,"
      "\"repad_logits_with_grad\":false,\"sep_token_id\":4,"
      "\"sparse_pred_ignore_index\":-100,\"sparse_prediction\":false" },
    { "t5", ",\"classifier_dropout\":0.0,\"d_ff\":160,\"d_kv\":16,\"d_model\":64,"
            "\"decoder_start_token_id\":0,\"dense_act_fn\":\"gelu_new\",\"dropout_rate\":0.1,"
            "\"feed_forward_proj\":\"gated-gelu\",\"initializer_factor\":1.0,"
            "\"is_encoder_decoder\":true,\"is_gated_act\":true,\"layer_norm_epsilon\":1e-6,"
            "\"n_positions\":512,\"num_decoder_layers\":4,\"num_heads\":4,\"num_layers\":4,"
            "\"output_past\":true,\"relative_attention_max_distance\":128,"
            "\"relative_attention_num_buckets\":32" },
    { "bart", ",\"activation_dropout\":0.1,\"activation_function\":\"gelu\",\"add_bias_logits\":"
              "false,\"add_final_layer_norm\":false,\"classif_dropout\":0.1,"
              "\"classifier_dropout\":0.0,\"d_model\":64,\"decoder_attention_heads\":4,"
              "\"decoder_ffn_dim\":160,\"decoder_layerdrop\":0.0,\"decoder_layers\":4,"
              "\"encoder_attention_heads\":4,\"encoder_ffn_dim\":160,\"encoder_layerdrop\":0.0,"
              "\"encoder_layers\":4,\"early_stopping\":true,\"forced_eos_token_id\":2,"
              "\"is_encoder_decoder\":true,\"length_penalty\":2.0,\"no_repeat_ngram_size\":3,"
              "\"normalize_before\":false,\"normalize_embedding\":true,\"num_beams\":4,"
              "\"scale_embedding\":false,\"static_position_embeddings\":false" },
    { "lfm2", /* LFM2 1.2B */
      ",\"block_auto_adjust_ff_dim\":true,\"block_dim\":64,\"block_ff_dim\":160,\"block_ffn"
      "_dim_multiplier\":1.0,\"block_mlp_init_scale\":1.0,\"block_multiple_of\":256,\"block"
      "_norm_eps\":1e-5,\"block_out_init_scale\":1.0,\"block_use_swiglu\":true,\"block_use_"
      "xavier_init\":true,\"conv_L_cache\":3,\"conv_bias\":false,\"conv_dim\":64,\"conv_dim"
      "_out\":64,\"conv_use_xavier_init\":true,\"full_attn_idxs\":[2],\"norm_eps\":1e-5,\"n"
      "um_heads\":4,\"rope_theta\":1000000.0,\"use_pos_enc\":true" },
    { "granitemoehybrid", /* Granite 4 tiny and micro */
      ",\"attention_bias\":false,\"attention_multiplier\":0.01,\"embedding_multiplier\":12,"
      "\"hidden_act\":\"silu\",\"init_method\":\"mup\",\"layer_types\":[\"mamba\",\"mamba\""
      ",\"attention\",\"mamba\"],\"logits_scaling\":6,\"mamba_chunk_size\":256,\"mamba_conv"
      "_bias\":true,\"mamba_d_conv\":4,\"mamba_d_head\":16,\"mamba_d_state\":16,\"mamba_exp"
      "and\":2,\"mamba_n_groups\":1,\"mamba_n_heads\":8,\"mamba_proj_bias\":false,\"normali"
      "zation_function\":\"rmsnorm\",\"num_experts_per_tok\":2,\"num_local_experts\":4,\"ou"
      "tput_router_logits\":false,\"position_embedding_type\":\"nope\",\"residual_multiplie"
      "r\":0.2,\"rms_norm_eps\":1e-5,\"rope_scaling\":null,\"rope_theta\":10000,\"router_au"
      "x_loss_coef\":0.0,\"shared_intermediate_size\":128,\"tie_word_embeddings\":true" },
    { "nemotron_h", /* Nemotron-H 8B */
      ",\"attention_bias\":false,\"attention_head_dim\":16,\"chunk_size\":128,\"conv_kernel"
      "\":4,\"expand\":2,\"hybrid_override_pattern\":\"M-M*\",\"layer_norm_epsilon\":1e-5,"
      "\"mamba_head_dim\":16,\"mamba_hidden_act\":\"silu\",\"mamba_num_heads\":8,\"mamba_pr"
      "oj_bias\":false,\"mlp_bias\":false,\"mlp_hidden_act\":\"relu2\",\"n_groups\":1,\"num"
      "_logits_to_keep\":1,\"rescale_prenorm_residual\":true,\"residual_in_fp32\":false,\"s"
      "liding_window\":null,\"ssm_state_size\":16,\"tie_word_embeddings\":false,\"time_step"
      "_floor\":0.0001,\"time_step_limit\":[0.0,Infinity],\"time_step_max\":0.1,\"time_step"
      "_min\":0.001,\"time_step_rank\":256,\"use_bias\":false,\"use_conv_bias\":true,\"use_"
      "mamba_kernels\":true" },
    { "qwen3_next", /* Qwen3-Next 80B */
      ",\"attention_bias\":false,\"decoder_sparse_step\":1,\"full_attention_interval\":4,\""
      "head_dim\":16,\"hidden_act\":\"silu\",\"linear_conv_kernel_dim\":4,\"linear_key_head"
      "_dim\":16,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"linear_value_hea"
      "d_dim\":16,\"mlp_only_layers\":[],\"moe_intermediate_size\":32,\"norm_topk_prob\":tr"
      "ue,\"num_experts\":8,\"num_experts_per_tok\":2,\"output_router_logits\":false,\"part"
      "ial_rotary_factor\":0.25,\"rms_norm_eps\":1e-6,\"rope_scaling\":null,\"rope_theta\":"
      "10000000,\"router_aux_loss_coef\":0.001,\"shared_expert_intermediate_size\":32,\"tie"
      "_word_embeddings\":false,\"use_sliding_window\":false" },
    { "qwen3_5_text", /* Qwen3.5 */
      ",\"attention_bias\":false,\"attn_output_gate\":true,\"full_attention_interval\":4,\""
      "head_dim\":16,\"hidden_act\":\"silu\",\"layer_types\":[\"linear_attention\",\"linear"
      "_attention\",\"linear_attention\",\"full_attention\"],\"linear_conv_kernel_dim\":4,"
      "\"linear_key_head_dim\":16,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,"
      "\"linear_value_head_dim\":16,\"mamba_ssm_dtype\":\"float32\",\"mlp_only_layers\":[],"
      "\"mtp_num_hidden_layers\":1,\"mtp_use_dedicated_embeddings\":false,\"partial_rotary_"
      "factor\":0.25,\"rms_norm_eps\":1e-6,\"rope_parameters\":{\"mrope_interleaved\":true,"
      "\"mrope_section\":[11,11,10],\"partial_rotary_factor\":0.25,\"rope_theta\":10000000,"
      "\"rope_type\":\"default\"},\"tie_word_embeddings\":true" },
    { "jamba", /* Jamba 1.5 */
      ",\"attn_layer_offset\":1,\"attn_layer_period\":2,\"calc_logits_for_entire_prompt\":f"
      "alse,\"expert_layer_offset\":1,\"expert_layer_period\":2,\"hidden_act\":\"silu\",\"m"
      "amba_conv_bias\":true,\"mamba_d_conv\":4,\"mamba_d_state\":16,\"mamba_dt_rank\":4,\""
      "mamba_expand\":2,\"mamba_inner_layernorms\":true,\"mamba_proj_bias\":false,\"num_exp"
      "erts\":4,\"num_experts_per_tok\":2,\"num_logits_to_keep\":1,\"output_router_logits\""
      ":false,\"rms_norm_eps\":1e-6,\"router_aux_loss_coef\":0.001,\"sliding_window\":null,"
      "\"tie_word_embeddings\":false,\"use_mamba_kernels\":true" },
    { "falcon_h1", /* Falcon-H1 0.5B */
      ",\"attention_bias\":false,\"attention_in_multiplier\":1.0,\"attention_out_multiplier"
      "\":0.9375,\"attn_layer_indices\":null,\"embedding_multiplier\":5.6,\"head_dim\":16,"
      "\"hidden_act\":\"silu\",\"key_multiplier\":0.39,\"lm_head_multiplier\":0.039,\"mamba"
      "_chunk_size\":128,\"mamba_conv_bias\":true,\"mamba_d_conv\":4,\"mamba_d_head\":16,\""
      "mamba_d_ssm\":96,\"mamba_d_state\":16,\"mamba_expand\":2,\"mamba_n_groups\":1,\"mamb"
      "a_n_heads\":6,\"mamba_norm_before_gate\":false,\"mamba_proj_bias\":false,\"mamba_rms"
      "_norm\":false,\"mamba_use_mlp\":true,\"mlp_bias\":false,\"mlp_expansion_factor\":8,"
      "\"mlp_multipliers\":[0.88,0.58],\"num_logits_to_keep\":1,\"projectors_bias\":false,"
      "\"rms_norm_eps\":1e-5,\"rope_scaling\":null,\"rope_theta\":1e11,\"ssm_in_multiplier"
      "\":1.25,\"ssm_multipliers\":[0.35,0.25,0.35,0.5,0.35],\"ssm_out_multiplier\":0.23,\""
      "tie_word_embeddings\":false" },
    { "arcee", /* AFM 4.5B */
      ",\"attention_bias\":false,\"head_dim\":16,\"hidden_act\":\"relu2\",\"mlp_bias\":fa"
      "lse,\"rms_norm_eps\":1e-5,\"rope_scaling\":{\"beta_fast\":32.0,\"beta_slow\":1.0,"
      "\"factor\":20.0,\"mscale\":1.0,\"original_max_position_embeddings\":4096,\"rope_ty"
      "pe\":\"yarn\",\"type\":\"yarn\"},\"rope_theta\":10000.0" },
    { "seed_oss", /* Seed-OSS 36B */
      ",\"attention_bias\":true,\"attention_out_bias\":false,\"head_dim\":128,\"hidden_ac"
      "t\":\"silu\",\"mlp_bias\":false,\"residual_dropout\":0.1,\"rms_norm_eps\":1e-6,\"r"
      "ope_scaling\":{\"rope_type\":\"default\"},\"rope_theta\":10000000.0,\"tie_word_emb"
      "eddings\":false" },
    { "ministral3", /* text model of Ministral 3 */
      ",\"head_dim\":16,\"hidden_act\":\"silu\",\"rms_norm_eps\":1e-5,\"rope_parameters\""
      ":{\"beta_fast\":32.0,\"beta_slow\":1.0,\"factor\":16.0,\"llama_4_scaling_beta\":0."
      "1,\"mscale\":1.0,\"mscale_all_dim\":1.0,\"original_max_position_embeddings\":16384"
      ",\"rope_theta\":1000000.0,\"rope_type\":\"yarn\",\"type\":\"yarn\"},\"sliding_wind"
      "ow\":null,\"tie_word_embeddings\":false" },
    { "minimax_m2", /* MiniMax M2 */
      ",\"attn_type_list\":[1,1,1,1],\"head_dim\":16,\"hidden_act\":\"silu\",\"mtp_transf"
      "ormer_layers\":1,\"num_experts_per_tok\":2,\"num_local_experts\":8,\"num_mtp_modul"
      "es\":3,\"qk_norm_type\":\"per_layer\",\"rms_norm_eps\":1e-6,\"rope_theta\":5000000"
      ",\"rotary_dim\":8,\"scoring_func\":\"sigmoid\",\"shared_intermediate_size\":0,\"ti"
      "e_word_embeddings\":false,\"use_mtp\":true,\"use_qk_norm\":true,\"use_routing_bias"
      "\":true" },
    { "ernie4_5_moe", /* ERNIE 4.5 21B A3B */
      ",\"hidden_act\":\"silu\",\"moe_capacity\":[64,64,64],\"moe_gate\":\"topk\",\"moe_i"
      "ntermediate_size\":32,\"moe_k\":2,\"moe_layer_end_index\":-1,\"moe_layer_interval"
      "\":1,\"moe_layer_start_index\":1,\"moe_num_experts\":8,\"moe_num_shared_experts\":"
      "2,\"moe_use_aux_free\":true,\"num_nextn_predict_layers\":1,\"rms_norm_eps\":1e-5,"
      "\"rope_scaling\":null,\"rope_theta\":500000.0,\"tie_word_embeddings\":true,\"use_b"
      "ias\":false" },
    { "afmoe", /* Trinity Mini */
      ",\"global_attn_every_n_layers\":4,\"head_dim\":16,\"hidden_act\":\"silu\",\"layer_"
      "types\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_"
      "attention\"],\"load_balance_coeff\":0.001,\"moe_intermediate_size\":32,\"mup_enabl"
      "ed\":true,\"n_group\":1,\"num_dense_layers\":2,\"num_expert_groups\":1,\"num_exper"
      "ts\":8,\"num_experts_per_tok\":2,\"num_limited_groups\":1,\"num_shared_experts\":1"
      ",\"rms_norm_eps\":1e-5,\"rope_scaling\":null,\"rope_theta\":10000,\"route_norm\":t"
      "rue,\"route_scale\":2.826,\"score_func\":\"sigmoid\",\"sliding_window\":2048,\"tie"
      "_word_embeddings\":false,\"topk_group\":1,\"use_grouped_mm\":true" },
    { "dots1", /* dots.llm1 */
      ",\"attention_bias\":false,\"first_k_dense_replace\":1,\"head_dim\":16,\"hidden_act"
      "\":\"silu\",\"max_window_layers\":62,\"moe_intermediate_size\":32,\"moe_layer_freq"
      "\":1,\"n_group\":1,\"n_routed_experts\":8,\"n_shared_experts\":2,\"norm_topk_prob"
      "\":true,\"num_experts_per_tok\":2,\"pretraining_tp\":1,\"rms_norm_eps\":1e-5,\"rop"
      "e_scaling\":null,\"rope_theta\":10000000,\"routed_scaling_factor\":2.5,\"scoring_f"
      "unc\":\"noaux_tc\",\"sliding_window\":null,\"tie_word_embeddings\":false,\"topk_gr"
      "oup\":1" },
    { "glm4_moe_lite", /* GLM 4.7 Flash */
      ",\"attention_bias\":false,\"first_k_dense_replace\":1,\"hidden_act\":\"silu\",\"kv"
      "_lora_rank\":32,\"moe_intermediate_size\":32,\"n_group\":1,\"n_routed_experts\":8,"
      "\"n_shared_experts\":1,\"norm_topk_prob\":true,\"num_experts_per_tok\":2,\"num_nex"
      "tn_predict_layers\":1,\"partial_rotary_factor\":1.0,\"q_lora_rank\":48,\"qk_nope_h"
      "ead_dim\":16,\"qk_rope_head_dim\":16,\"rms_norm_eps\":1e-5,\"rope_scaling\":null,"
      "\"rope_theta\":1000000,\"routed_scaling_factor\":1.8,\"tie_word_embeddings\":false"
      ",\"topk_group\":1,\"topk_method\":\"noaux_tc\",\"v_head_dim\":24" },
    { "kimi_k2", /* Kimi K2 */
      ",\"attention_bias\":false,\"aux_loss_alpha\":0.001,\"ep_size\":1,\"first_k_dense_r"
      "eplace\":1,\"hidden_act\":\"silu\",\"kv_lora_rank\":32,\"moe_intermediate_size\":3"
      "2,\"moe_layer_freq\":1,\"n_group\":1,\"n_routed_experts\":8,\"n_shared_experts\":1"
      ",\"norm_topk_prob\":true,\"num_experts_per_tok\":2,\"num_nextn_predict_layers\":0,"
      "\"pretraining_tp\":1,\"q_lora_rank\":48,\"qk_nope_head_dim\":16,\"qk_rope_head_dim"
      "\":16,\"rms_norm_eps\":1e-6,\"rope_scaling\":{\"beta_fast\":1.0,\"beta_slow\":1.0,"
      "\"factor\":32.0,\"mscale\":1.0,\"mscale_all_dim\":1.0,\"original_max_position_embe"
      "ddings\":4096,\"type\":\"yarn\"},\"rope_theta\":50000.0,\"routed_scaling_factor\":"
      "2.827,\"scoring_func\":\"sigmoid\",\"seq_aux\":true,\"tie_word_embeddings\":false,"
      "\"topk_group\":1,\"topk_method\":\"noaux_tc\",\"v_head_dim\":24" },
    { "youtu", /* Youtu-LLM 2B */
      ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"kv_lora_rank\":32,\"mlp_bias\""
      ":false,\"q_lora_rank\":48,\"qk_head_dim\":32,\"qk_nope_head_dim\":16,\"qk_rope_hea"
      "d_dim\":16,\"rms_norm_eps\":1e-6,\"rope_interleave\":true,\"rope_scaling\":null,\""
      "rope_theta\":1600000,\"tie_word_embeddings\":true,\"v_head_dim\":24" },
    { "jais2", /* Jais 2 8B */
      ",\"attention_bias\":true,\"head_dim\":16,\"hidden_act\":\"relu2\",\"layer_norm_eps"
      "\":1e-5,\"mlp_bias\":true,\"rope_scaling\":null,\"rope_theta\":500000.0,\"tie_word"
      "_embeddings\":false" },
    { "cwm", /* CWM 32B */
      ",\"head_dim\":16,\"hidden_act\":\"silu\",\"layer_types\":[\"full_attention\",\"sli"
      "ding_attention\",\"sliding_attention\",\"sliding_attention\"],\"mlp_bias\":false,"
      "\"rms_norm_eps\":1e-5,\"rope_scaling\":{\"factor\":16.0,\"high_freq_factor\":4.0,"
      "\"low_freq_factor\":1.0,\"original_max_position_embeddings\":8192,\"rope_type\":\""
      "llama3\"},\"rope_theta\":1000000.0,\"sliding_window\":8192,\"tie_word_embeddings\""
      ":false" },
    { "vaultgemma", /* VaultGemma 1B */
      ",\"attention_bias\":false,\"attn_logit_softcapping\":50.0,\"final_logit_softcappin"
      "g\":30.0,\"head_dim\":16,\"hidden_activation\":\"gelu_pytorch_tanh\",\"layer_types"
      "\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attentio"
      "n\"],\"query_pre_attn_scalar\":256,\"rms_norm_eps\":1e-6,\"rope_theta\":10000.0,\""
      "sliding_window\":512" },
    { "exaone_moe", /* K-EXAONE */
      ",\"first_k_dense_replace\":1,\"head_dim\":16,\"hidden_act\":\"silu\",\"layer_types"
      "\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_atten"
      "tion\"],\"mlp_layer_types\":[\"dense\",\"sparse\",\"sparse\",\"sparse\"],\"moe_int"
      "ermediate_size\":32,\"n_group\":1,\"norm_topk_prob\":true,\"num_experts\":8,\"num_"
      "experts_per_tok\":2,\"num_nextn_predict_layers\":1,\"num_shared_experts\":1,\"rms_"
      "norm_eps\":1e-5,\"rope_scaling\":null,\"rope_theta\":1000000,\"routed_scaling_fact"
      "or\":2.5,\"scoring_func\":\"sigmoid\",\"sliding_window\":128,\"sliding_window_patt"
      "ern\":\"LLLG\",\"tie_word_embeddings\":false,\"topk_group\":1,\"topk_method\":\"no"
      "aux_tc\"" },
    { "deepseek", /* DeepSeek MoE 16B */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"aux_loss_alpha\":0.001,\"first_k_"
      "dense_"
      "replace\":1,\"hidden_act\":\"silu\",\"moe_intermediate_size\":1408,\"moe_layer_freq\":1,\"n_"
      "routed_experts\":64,\"n_shared_experts\":2,\"norm_topk_prob\":false,\"num_experts_per_tok\":"
      "6,"
      "\"pretraining_tp\":1,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":10000,"
      "\"scoring_func\":\"softmax\",\"seq_aux\":true,\"tie_word_embeddings\":false" },
    { "plm", /* PLM 1.8B */
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"head_dim\":64,\"hidden_act\":"
      "\"relu2\","
      "\"kv_lora_rank\":512,\"pretraining_tp\":1,\"q_lora_rank\":null,\"qk_head_dim\":192,\"qk_"
      "nope_"
      "head_dim\":128,\"qk_rope_head_dim\":64,\"rms_norm_eps\":1e-06,\"rope_interleave\":true,"
      "\"rope_scaling\":null,\"rope_theta\":100000.0,\"tie_word_embeddings\":true,\"v_head_dim\":"
      "128" },
    { "jais", /* 13B */
      ",\"activation_function\":\"swiglu\",\"attn_pdrop\":0.0,\"embd_pdrop\":0.0,"
      "\"embeddings_scale\":14.6,\"layer_norm_epsilon\":1e-05,\"position_embedding_type\":"
      "\"alibi\","
      "\"reorder_and_upcast_attn\":false,\"resid_pdrop\":0.0,\"scale_attn_by_inverse_layer_idx\":"
      "false,\"scale_attn_weights\":true,\"scale_qk_dot_by_d\":true,\"width_scale\":0.111" },
    { "plamo2", /* 1B */
      ",\"attention_window_size\":2048,\"eval_attention_n_bit\":null,\"eval_mlp_n_bit\":null,"
      "\"fp8_accum_dtype\":null,\"full_attention_idx\":[],\"hidden_size_per_head\":16,"
      "\"image_feature_size\":null,\"image_proj_type\":\"linear\",\"image_token_id\":null,"
      "\"linear_type\":\"normal\",\"mamba_chunk_size\":256,\"mamba_d_conv\":4,\"mamba_d_state\":64,"
      "\"mamba_enabled\":true,\"mamba_num_heads\":32,\"mamba_step\":2,\"sliding_window\":2048,"
      "\"tokenizer_class\":\"Plamo2Tokenizer\"" },
    { "plamo3",
      ",\"attention_bias\":false,\"hidden_activation\":\"swiglu\",\"initial_context_length\":null,"
      "\"rope_local_theta\":10000,\"rope_scaling_factor\":1,\"rope_theta\":1000000,"
      "\"scale_embedding\":false,\"sliding_window_pattern\":8,\"window_size\":2048,"
      "\"tokenizer_class\":\"Plamo3Tokenizer\"" },
    { "neobert", ",\"classifier_init_range\":0.02,\"decoder_init_range\":0.02,"
                 "\"dim_head\":16,\"embedding_init_range\":0.02,\"kwargs\":{"
                 "\"classifier_init_range\":0.02,\"trust_remote_code\":true},"
                 "\"norm_eps\":1e-05" },
    PUBLISHED_EXPERTS,
};

#endif
