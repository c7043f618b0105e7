/* SPDX-License-Identifier: Apache-2.0 */
/* kimi.c - Moonshot Kimi K2: the id functions.NAME:N before the arguments. */
#include "chat_format/output/formats/formats.h"

static const struct qr_named_call named = {
    .name_end = { "<|tool_call_argument_begin|>" },
    .name_is_id = true,
};

static const struct qr_call_syntax syntax = {
    .trigger = "<|tool_calls_section_begin|>",
    .begin = "<|tool_calls_section_begin|>",
    .open = "<|tool_call_begin|>functions.",
    .middle = ":" QR_CALL_NUMBER "<|tool_call_argument_begin|>",
    .close = "<|tool_call_end|>",
    .end = "<|tool_calls_section_end|>",
};

const struct qr_output_format qr_format_kimi_k2 = {
    .name = "kimi_k2",
    .flags = QR_FORMAT_CALLS_END_THINKING,
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_NAMED,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .section_open = { "<|tool_calls_section_begin|>" },
    .section_close = { "<|tool_calls_section_end|>" },
    .call_open = { "<|tool_call_begin|>" },
    .call_close = { "<|tool_call_end|>" },
    .named = &named,
    .marks = { "<|tool_calls_section_begin|>" },
    .syntax = &syntax,
};
