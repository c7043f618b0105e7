/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h - the output formats. */
#ifndef QR_CHAT_FORMAT_OUTPUT_FORMATS_FORMATS_H
#define QR_CHAT_FORMAT_OUTPUT_FORMATS_FORMATS_H
#include "chat_format/output/formats/format.h"

/* X(name): all formats, in the order in which templates are matched: rarer marks first. */
#define QR_OUTPUT_FORMATS(X)                                                                       \
    X(muse_glimmer)                                                                                \
    X(harmony)                                                                                     \
    X(gemma4)                                                                                      \
    X(functiongemma)                                                                               \
    X(kimi_k2)                                                                                     \
    X(deepseek_v3_2)                                                                               \
    X(step3)                                                                                       \
    X(deepseek_r1)                                                                                 \
    X(deepseek_v3)                                                                                 \
    X(deepseek_v3_1)                                                                               \
    X(glm4_5_xml)                                                                                  \
    X(minimax_m2)                                                                                  \
    X(seed_oss)                                                                                    \
    X(apertus)                                                                                     \
    X(lfm2)                                                                                        \
    X(command_r7b)                                                                                 \
    X(command_r_plus)                                                                              \
    X(nemotron)                                                                                    \
    X(apriel)                                                                                      \
    X(hunyuan_a13b)                                                                                \
    X(granite_thought)                                                                             \
    X(granite)                                                                                     \
    X(granite4)                                                                                    \
    X(gigachat3)                                                                                   \
    X(internlm2)                                                                                   \
    X(firefunction)                                                                                \
    X(phi4)                                                                                        \
    X(olmo3)                                                                                       \
    X(magistral_think)                                                                             \
    X(mistral_v11)                                                                                 \
    X(mistral)                                                                                     \
    X(functionary_v3_2)                                                                            \
    X(qwen3_coder_xml)                                                                             \
    X(functionary_v3_1)                                                                            \
    X(llama4_pythonic)                                                                             \
    X(xlam)                                                                                        \
    X(hermes)                                                                                      \
    X(llama3_json)                                                                                 \
    X(llama3_python_tag)                                                                           \
    X(pythonic)                                                                                    \
    X(generic_json)                                                                                \
    X(content_only)

#define X(name) extern const struct qr_output_format qr_format_##name;
QR_OUTPUT_FORMATS(X)
#undef X

/* NULL-terminated. */
extern const struct qr_output_format *const qr_output_formats[];
/* NULL: no format of that name. */
const struct qr_output_format *qr_output_format_find(const char *name);

#endif
