/* SPDX-License-Identifier: Apache-2.0 */
/* families.h - the list of model families. */
#ifndef QR_MODEL_ARCH_FAMILIES_H
#define QR_MODEL_ARCH_FAMILIES_H

/* X(name): a file of this folder defines `const struct qr_arch qr_arch_<name>`. */
#define QR_FAMILIES(X)                                                                             \
    X(afmoe)                                                                                       \
    X(arcee)                                                                                       \
    X(bamba)                                                                                       \
    X(bart)                                                                                        \
    X(bert)                                                                                        \
    X(bloom)                                                                                       \
    X(cohere2)                                                                                     \
    X(cwm)                                                                                         \
    X(deepseek_v2)                                                                                 \
    X(deepseek_v3)                                                                                 \
    X(dots1)                                                                                       \
    X(ernie4_5)                                                                                    \
    X(ernie4_5_moe)                                                                                \
    X(eurobert)                                                                                    \
    X(exaone_moe)                                                                                  \
    X(falcon)                                                                                      \
    X(falcon_h1)                                                                                   \
    X(falcon_mamba)                                                                                \
    X(gemma)                                                                                       \
    X(gemma2)                                                                                      \
    X(gemma3)                                                                                      \
    X(glm4)                                                                                        \
    X(glm4_moe_lite)                                                                               \
    X(gpt2)                                                                                        \
    X(gpt_bigcode)                                                                                 \
    X(gpt_neo)                                                                                     \
    X(gpt_neox)                                                                                    \
    X(gpt_oss)                                                                                     \
    X(gptj)                                                                                        \
    X(granite)                                                                                     \
    X(granitemoe)                                                                                  \
    X(granitemoehybrid)                                                                            \
    X(jais2)                                                                                       \
    X(jamba)                                                                                       \
    X(kimi_linear)                                                                                 \
    X(lfm2)                                                                                        \
    X(lfm2_moe)                                                                                    \
    X(llama)                                                                                       \
    X(llama4)                                                                                      \
    X(mamba)                                                                                       \
    X(mamba2)                                                                                      \
    X(minimax)                                                                                     \
    X(minimax_m2)                                                                                  \
    X(ministral3)                                                                                  \
    X(mistral)                                                                                     \
    X(mistral4)                                                                                    \
    X(mixtral)                                                                                     \
    X(modernbert)                                                                                  \
    X(mpt)                                                                                         \
    X(nemotron)                                                                                    \
    X(nemotron_h)                                                                                  \
    X(olmo)                                                                                        \
    X(olmo2)                                                                                       \
    X(olmo3)                                                                                       \
    X(olmo_hybrid)                                                                                 \
    X(olmoe)                                                                                       \
    X(opt)                                                                                         \
    X(phi)                                                                                         \
    X(phi3)                                                                                        \
    X(qwen2)                                                                                       \
    X(qwen2_moe)                                                                                   \
    X(qwen3)                                                                                       \
    X(qwen3_5)                                                                                     \
    X(qwen3_5_moe)                                                                                 \
    X(qwen3_moe)                                                                                   \
    X(qwen3_next)                                                                                  \
    X(roberta)                                                                                     \
    X(seed_oss)                                                                                    \
    X(stablelm)                                                                                    \
    X(starcoder2)                                                                                  \
    X(t5)                                                                                          \
    X(vaultgemma)                                                                                  \
    X(youtu)

#endif
