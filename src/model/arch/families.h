/* SPDX-License-Identifier: Apache-2.0 */
/* families.h - the list of model families. */
#ifndef QR_MODEL_ARCH_FAMILIES_H
#define QR_MODEL_ARCH_FAMILIES_H

/* X(name): a file of this folder defines `const struct qr_arch qr_arch_<name>`. */
#define QR_FAMILIES(X)                                                                             \
    X(bart)                                                                                        \
    X(bert)                                                                                        \
    X(bloom)                                                                                       \
    X(cohere2)                                                                                     \
    X(deepseek_v2)                                                                                 \
    X(deepseek_v3)                                                                                 \
    X(ernie4_5)                                                                                    \
    X(falcon)                                                                                      \
    X(gemma)                                                                                       \
    X(gemma2)                                                                                      \
    X(gemma3)                                                                                      \
    X(glm4)                                                                                        \
    X(gpt2)                                                                                        \
    X(gpt_bigcode)                                                                                 \
    X(gpt_neo)                                                                                     \
    X(gpt_neox)                                                                                    \
    X(gpt_oss)                                                                                     \
    X(gptj)                                                                                        \
    X(granite)                                                                                     \
    X(granitemoe)                                                                                  \
    X(llama)                                                                                       \
    X(llama4)                                                                                      \
    X(mistral)                                                                                     \
    X(mixtral)                                                                                     \
    X(modernbert)                                                                                  \
    X(mpt)                                                                                         \
    X(nemotron)                                                                                    \
    X(olmo)                                                                                        \
    X(olmo2)                                                                                       \
    X(olmo3)                                                                                       \
    X(olmoe)                                                                                       \
    X(opt)                                                                                         \
    X(phi)                                                                                         \
    X(phi3)                                                                                        \
    X(qwen2)                                                                                       \
    X(qwen2_moe)                                                                                   \
    X(qwen3)                                                                                       \
    X(qwen3_moe)                                                                                   \
    X(roberta)                                                                                     \
    X(stablelm)                                                                                    \
    X(starcoder2)                                                                                  \
    X(t5)

#endif
