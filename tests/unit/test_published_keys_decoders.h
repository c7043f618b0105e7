/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_decoders.h - rows of test_published_keys_later.h: decoders. */
#ifndef QR_TEST_PUBLISHED_KEYS_DECODERS_H
#define QR_TEST_PUBLISHED_KEYS_DECODERS_H

/* ModernBERT decoder, Refact 1.6B, PLaMo 13B, PaddleOCR-VL 0.9B, HunyuanOCR, Muse Glimmer
 * 30B (text_config), Spark-X2.5, Talkie 13B */
#define PUBLISHED_DECODERS                                                                         \
    { "modernbert-decoder",                                                                        \
      ",\"attention_bias\":false,\"attention_dropout\":0.0,\"causal_mask\":true,"                  \
      "\"classifier_activation\":\"gelu\",\"classifier_bias\":false,"                              \
      "\"classifier_dropout\":0.0,\"classifier_pooling\":\"mean\","                                \
      "\"cls_token_id\":50281,\"decoder_bias\":true,"                                              \
      "\"deterministic_flash_attn\":false,\"embedding_dropout\":0.0,"                              \
      "\"global_attn_every_n_layers\":3,\"global_rope_theta\":160000.0,"                           \
      "\"gradient_checkpointing\":false,\"hidden_activation\":\"gelu\","                           \
      "\"initializer_cutoff_factor\":2.0,\"is_causal\":true,"                                      \
      "\"layer_norm_eps\":1e-05,\"local_attention\":128,"                                          \
      "\"local_rope_theta\":160000.0,\"mlp_bias\":false,\"mlp_dropout\":0.0,"                      \
      "\"norm_bias\":false,\"norm_eps\":1e-05,"                                                    \
      "\"position_embedding_type\":\"sans_pos\",\"reference_compile\":false,"                      \
      "\"repad_logits_with_grad\":false,\"sep_token_id\":50282,"                                   \
      "\"sliding_window\":64,\"sparse_pred_ignore_index\":-100,"                                   \
      "\"sparse_prediction\":false,\"unk_token\":\"[UNK]\"" },                                     \
        { "gpt_refact", ",\"attention_bias_in_fp32\":true,\"attention_softmax_in_fp32\":true,"     \
                        "\"do_sample\":true,\"layer_norm_epsilon\":1e-05,\"multi_query\":true,"    \
                        "\"scale_attention_softmax_in_fp32\":true" },                              \
        { "plamo", ",\"hidden_act\":\"silu\",\"n_shared_head\":2,\"rms_norm_eps\":1e-06,"          \
                   "\"tie_word_embeddings\":false" },                                              \
        { "paddleocr_vl",                                                                          \
          ",\"attention_probs_dropout_prob\":0.0,\"compression_ratio\":1.0,"                       \
          "\"head_dim\":128,\"hidden_act\":\"silu\",\"hidden_dropout_prob\":0.0,"                  \
          "\"ignored_index\":-100,\"image_token_id\":100295,"                                      \
          "\"max_sequence_length\":null,\"rms_norm_eps\":1e-05,"                                   \
          "\"rope_is_neox_style\":true,\"rope_scaling\":{\"mrope_section\":[16,24,24],"            \
          "\"rope_type\":\"default\",\"type\":\"default\"},\"rope_theta\":500000,"                 \
          "\"sliding_window\":null,\"tie_word_embeddings\":false,\"use_3d_rope\":true,"            \
          "\"use_bias\":false,\"use_flash_attention\":false,\"video_token_id\":101307,"            \
          "\"vision_config\":{\"hidden_size\":1152},\"vision_start_token_id\":101305,"             \
          "\"weight_share_add_bias\":true" },                                                      \
        { "spark2_5", ",\"attention_bias\":false,\"dv_ssq\":false,\"gate_attn_act_mode\":\"si"     \
                      "gmoid\",\"gsq_int4\":false,\"hadamard_spin\":false,\"head_dim\":256,\""     \
                      "headwise_attn_output_gate\":true,\"hidden_act\":\"gelu\",\"key_value_b"     \
                      "inding_sharpening\":false,\"kv_focus_factor\":1.1,\"layer_types\":[\"s"     \
                      "liding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_"     \
                      "attention\"],\"mlp_bias\":false,\"rms_norm_eps\":1e-06,\"rope_paramete"     \
                      "rs\":{\"full_attention\":{\"partial_rotary_factor\":0.25,\"rope_theta"      \
                      "\":5000000},\"sliding_attention\":{\"partial_rotary_factor\":1.0,\"rop"     \
                      "e_theta\":10000}},\"selective_attention_preservation\":false,\"sliding"     \
                      "_window\":512,\"tie_word_embeddings\":true" },                              \
        { "muse_glimmer_text",                                                                     \
          ",\"attention_bias\":false,\"attention_dropout\":0.0,\"bos_token_id\":1,"                \
          "\"eos_token_id\":2,\"final_logit_softcapping\":20.0,\"head_dim\":128,"                  \
          "\"hidden_activation\":\"silu\",\"initializer_range\":0.02,"                             \
          "\"layer_rope_theta\":[500000.0,500000.0,500000.0,0],\"layer_types\":["                  \
          "\"sliding_attention\",\"sliding_attention\",\"sliding_attention\","                     \
          "\"full_attention\"],\"output_multiplier\":0.19611613513818404,"                         \
          "\"pad_token_id\":null,\"post_norm_eps\":1e-08,\"qk_scale_factor\":3.87,"                \
          "\"rms_norm_eps\":1e-05,\"rope_parameters\":{\"rope_theta\":500000.0,"                   \
          "\"rope_type\":\"default\"},\"sliding_window\":2048,"                                    \
          "\"tie_word_embeddings\":false,\"use_cache\":true" },                                    \
        { "hunyuan_vl",                                                                            \
          ",\"attention_bias\":false,\"attention_head_dim\":16,\"eod_token_id\":20,"               \
          "\"head_dim\":16,\"hidden_act\":\"silu\",\"image_end_token_id\":19,"                     \
          "\"image_newline_token_id\":21,\"image_start_token_id\":18,"                             \
          "\"image_token_id\":20,\"mlp_bias\":false,\"norm_type\":\"rms\","                        \
          "\"num_experts\":1,\"org_vocab_size\":318,\"pad_id\":2,\"pretraining_tp\":1,"            \
          "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"alpha\":1000.0,\"beta_fast\":32,"            \
          "\"beta_slow\":1,\"factor\":1.0,\"mscale\":1.0,\"mscale_all_dim\":1.0,"                  \
          "\"type\":\"xdrope\",\"xdrope_section\":[2,2,2,2]},\"rope_theta\":10000.0,"              \
          "\"routed_scaling_factor\":1.0,\"sep_token_id\":0,\"text_end_id\":8,"                    \
          "\"text_start_id\":7,\"tie_word_embeddings\":true,\"use_cla\":false,"                    \
          "\"use_qk_norm\":true,\"vision_config\":{\"hidden_size\":1152}" },                       \
    {                                                                                              \
        "talkie", ",\"auto_map\":{\"AutoConfig\":\"configuration_talkie.TalkieConfig\"},"          \
                  "\"head_dim\":16,\"max_position_embeddings\":2048,\"rope_theta\":1000000.0,"     \
                  "\"tie_word_embeddings\":false"                                                  \
    }

#endif
