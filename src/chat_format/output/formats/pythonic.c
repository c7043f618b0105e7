/* SPDX-License-Identifier: Apache-2.0 */
/* pythonic.c - Calls in Python: Llama 3.2 and 4, ToolACE, LFM2, Olmo 3. */
#include "chat_format/output/formats/formats.h"

#define SYNTAX(before, after)                                                                      \
    {                                                                                              \
        .trigger = before, .begin = before, .middle = "(", .close = ")", .separator = ", ",        \
        .end = after, .notation = "keyword_arguments",                                             \
    }

static const struct qr_call_syntax bare_syntax = {
    .begin = "[",
    .middle = "(",
    .close = ")",
    .separator = ", ",
    .end = "]",
    .notation = "keyword_arguments",
};

const struct qr_output_format qr_format_pythonic = {
    .name = "pythonic",
    .flags = QR_FORMAT_KEEP_SPACE,
    .notation = QR_CALLS_PYTHON,
    .body_open = { "[" },
    .syntax = &bare_syntax,
};

static const struct qr_call_syntax llama4_syntax = SYNTAX("<|python_start|>[", "]<|python_end|>");

const struct qr_output_format qr_format_llama4_pythonic = {
    .name = "llama4_pythonic",
    .flags = QR_FORMAT_KEEP_SPACE,
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_PYTHON,
    .skip = { "<|eot|>" },
    .call_open = { "<|python_start|>" },
    .call_close = { "<|python_end|>" },
    .body_open = { "[" },
    .any_mark = { "<|python_start|>", "<|header_start|>" },
    .syntax = &llama4_syntax,
};

static const struct qr_call_syntax lfm2_syntax =
    SYNTAX("<|tool_call_start|>[", "]<|tool_call_end|>");

const struct qr_output_format qr_format_lfm2 = {
    .name = "lfm2",
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_PYTHON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "<|tool_call_start|>" },
    .call_close = { "<|tool_call_end|>" },
    .body_open = { "[" },
    .any_mark = { "<|tool_call_start|>", "<|tool_list_start|>", "List of tools: [" },
    .syntax = &lfm2_syntax,
};

static const struct qr_call_syntax olmo3_syntax = {
    .trigger = "<function_calls>",
    .begin = "<function_calls>",
    .middle = "(",
    .close = ")",
    .separator = "\n",
    .end = "</function_calls>",
    .notation = "keyword_arguments",
};

const struct qr_output_format qr_format_olmo3 = {
    .name = "olmo3",
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_PYTHON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "<function_calls>" },
    .call_close = { "</function_calls>" },
    .marks = { "<function_calls>" },
    .syntax = &olmo3_syntax,
};
