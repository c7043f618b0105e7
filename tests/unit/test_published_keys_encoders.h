/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_encoders.h - rows of test_published_keys_later.h: encoders like BERT. */
#ifndef QR_TEST_PUBLISHED_KEYS_ENCODERS_H
#define QR_TEST_PUBLISHED_KEYS_ENCODERS_H

/* DistilBERT, all-mpnet-base-v2, ms-marco-electra-base, ALBERT base v2, gte-multilingual-base,
 * DeBERTa 3 base */
#define PUBLISHED_ENCODERS                                                                         \
    { "distilbert",                                                                                \
      ",\"activation\":\"gelu\",\"dropout\":0.1,\"finetuning_task\":\"sst-2\",\"output_past\":"    \
      "true,\"qa_dropout\":0.1,\"seq_classif_dropout\":0.2,\"sinusoidal_pos_embds\":false,"        \
      "\"tie_weights_\":true" },                                                                   \
        { "mpnet", ",\"attention_probs_dropout_prob\":0.1,\"hidden_act\":\"gelu\","                \
                   "\"hidden_dropout_prob\":0.1,\"layer_norm_eps\":1e-05,"                         \
                   "\"relative_attention_num_buckets\":32" },                                      \
        { "electra", ",\"attention_probs_dropout_prob\":0.1,\"embedding_size\":64,\"gradient_"     \
                     "checkpointing\":false,\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,"  \
                     "\"layer_norm_eps\":1e-12,\"position_embedding_type\":\"absolute\","          \
                     "\"summary_activation\":\"gelu\",\"summary_last_dropout\":0.1,"               \
                     "\"summary_type\":\"first\",\"summary_use_proj\":true,"                       \
                     "\"type_vocab_size\":2" },                                                    \
        { "deberta-v2",                                                                            \
          ",\"attention_probs_dropout_prob\":0.1,\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":" \
          "0.1,\"layer_norm_eps\":1e-07,\"legacy\":true,\"max_relative_positions\":-1,\"norm_rel_" \
          "ebd\":\"layer_norm\",\"pooler_dropout\":0,\"pooler_hidden_act\":\"gelu\",\"pooler_"     \
          "hidden_size\":64,\"pos_att_type\":[\"p2c\",\"c2p\"],\"position_biased_input\":false,"   \
          "\"position_buckets\":256,\"relative_attention\":true,\"share_att_key\":true,\"type_"    \
          "vocab_size\":0" },                                                                      \
        { "albert", ",\"attention_probs_dropout_prob\":0,\"classifier_dropout_prob\":0.1,"         \
                    "\"down_scale_factor\":1,\"embedding_size\":32,\"gap_size\":0,\"hidden_act\":" \
                    "\"gelu_new\",\"hidden_dropout_prob\":0,\"inner_group_num\":1,"                \
                    "\"layer_norm_eps\":1e-12,\"net_structure_type\":0,\"num_hidden_groups\":1,"   \
                    "\"num_memory_blocks\":0,\"type_vocab_size\":2" },                             \
    {                                                                                              \
        "new", ",\"attention_probs_dropout_prob\":0.0,\"classifier_dropout\":0.0,\"hidden_act\":"  \
               "\"gelu\",\"hidden_dropout_prob\":0.1,\"id2label\":{\"0\":\"LABEL_0\"},"            \
               "\"label2id\":{\"LABEL_0\":0},\"layer_norm_eps\":1e-12,\"layer_norm_type\":"        \
               "\"layer_norm\",\"logn_attention_clip1\":false,\"logn_attention_scale\":false,"     \
               "\"pack_qkv\":true,\"position_embedding_type\":\"rope\",\"rope_scaling\":{"         \
               "\"factor\":8.0,\"type\":\"ntk\"},\"rope_theta\":20000,\"type_vocab_size\":1,"      \
               "\"unpad_inputs\":false,\"use_memory_efficient_attention\":false"                   \
    }

#endif
