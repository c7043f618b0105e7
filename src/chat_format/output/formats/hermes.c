/* SPDX-License-Identifier: Apache-2.0 */
/* hermes.c - Hermes 2 Pro, Hermes 3, Qwen2.5, Qwen3: <tool_call>{"name",
 * "arguments"}</tool_call>. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax syntax = {
    .trigger = "<tool_call>",
    .open = "<tool_call>\n{\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "}\n</tool_call>",
    .separator = "\n",
};

const struct qr_output_format qr_format_hermes = {
    .name = "hermes",
    .flags = QR_FORMAT_CALLS_END_THINKING,
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "<tool_call>", "<function_call>" },
    .call_close = { "</tool_call>", "</function_call>" },
    .marks = { "<tool_call>" },
    .syntax = &syntax,
};
