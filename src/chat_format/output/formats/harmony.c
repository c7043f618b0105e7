/* SPDX-License-Identifier: Apache-2.0 */
/* harmony.c - gpt-oss: messages with channels. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax syntax = {
    .open = "<|channel|>commentary to=functions.",
    .middle = " <|constrain|>json<|message|>",
    .single = true,
    .content_open = "<|channel|>final<|message|>",
    .think_open = "<|channel|>analysis<|message|>",
    .think_close = "<|end|><|start|>assistant",
};

const struct qr_output_format qr_format_harmony = {
    .name = "harmony",
    .flags = QR_FORMAT_HARMONY,
    .marks = { "<|channel|>", "<|start|>" },
    .syntax = &syntax,
};
