/* SPDX-License-Identifier: Apache-2.0 */
/* gemma.c - Gemma 4 and FunctionGemma: call:NAME{key:value}. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax syntax = {
    .trigger = "<|tool_call>",
    .open = "<|tool_call>call:",
    .close = "<tool_call|>",
    .think_open = "<|channel>thought\n",
    .think_close = "<channel|>",
    .notation = "gemma4",
};

const struct qr_output_format qr_format_gemma4 = {
    .name = "gemma4",
    .flags = QR_FORMAT_THINK_ANYWHERE | QR_FORMAT_DROP_STRAY_CLOSE,
    .notation = QR_CALLS_GEMMA,
    .think_open = { "<|channel>" },
    .think_close = { "<channel|>" },
    .literal_think_prefix = "thought",
    .skip = { "<turn|>" },
    .call_open = { "<|tool_call>" },
    .call_close = { "<tool_call|>" },
    .gemma_quote = "<|\"|>",
    .marks = { "<|tool_call>" },
    .syntax = &syntax,
};

static const struct qr_call_syntax function_syntax = {
    .trigger = "<start_function_call>",
    .open = "<start_function_call>call:",
    .close = "<end_function_call>",
    .notation = "function_gemma",
};

const struct qr_output_format qr_format_functiongemma = {
    .name = "functiongemma",
    .notation = QR_CALLS_GEMMA,
    .call_open = { "<start_function_call>" },
    .call_close = { "<end_function_call>" },
    .gemma_quote = "<escape>",
    .gemma_typed = true,
    .marks = { "<start_function_call>" },
    .syntax = &function_syntax,
};
