/* SPDX-License-Identifier: Apache-2.0 */
/* test_published_keys_experts.h - rows of test_published_keys.h: mixtures of experts. */
#ifndef QR_TEST_PUBLISHED_KEYS_EXPERTS_H
#define QR_TEST_PUBLISHED_KEYS_EXPERTS_H

/* GroveMoE Inst */
#define PUBLISHED_EXPERTS                                                                          \
    {                                                                                              \
        "grove_moe",                                                                               \
            ",\"attention_bias\":false,\"attention_dropout\":0.0,\"decoder_sparse_step\":1,"       \
            "\"head_dim\":128,\"hidden_act\":\"silu\",\"initializer_range\":0.02,"                 \
            "\"max_window_layers\":48,\"mlp_only_layers\":[],\"moe_intermediate_size\":768,"       \
            "\"norm_topk_prob\":true,\"num_experts\":128,\"num_experts_per_tok\":8,"               \
            "\"output_router_logits\":false,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,"         \
            "\"rope_theta\":1000000.0,\"router_aux_loss_coef\":0.001,\"sliding_window\":null,"     \
            "\"tie_word_embeddings\":false,\"use_cache\":true,\"use_sliding_window\":false"        \
    }

#endif
