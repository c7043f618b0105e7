/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_decoders.h - rows of test_published_keys_later.h: decoders. */
#ifndef QR_TEST_PUBLISHED_KEYS_DECODERS_H
#define QR_TEST_PUBLISHED_KEYS_DECODERS_H

/* ModernBERT decoder, Refact 1.6B, PLaMo 13B */
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
    {                                                                                              \
        "plamo", ",\"hidden_act\":\"silu\",\"n_shared_head\":2,\"rms_norm_eps\":1e-06,"            \
                 "\"tie_word_embeddings\":false"                                                   \
    }

#endif
