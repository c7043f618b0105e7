/* SPDX-License-Identifier: Apache-2.0 */
/* granite.c - IBM Granite 3.x and 4. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax syntax = {
    .trigger = "<|tool_call|>",
    .begin = "<|tool_call|>[",
    .open = "{\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "}",
    .separator = ", ",
    .end = "]",
};

static const struct qr_call_syntax syntax4 = {
    .trigger = "<tool_call>",
    .open = "<tool_call> {\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "} </tool_call>",
    .separator = "\n",
};

/* 3.x; 3.1 writes the marker as <tool_call> in plain text */
const struct qr_output_format qr_format_granite = {
    .name = "granite",
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .skip = { "<response>", "</response>" },
    .call_open = { "<|tool_call|>", "<tool_call>" },
    .call_close = { "</tool_call>" },
    .marks = { "<|tool_call|>" },
    .syntax = &syntax,
};

/* 3.2: reasoning between phrases */
const struct qr_output_format qr_format_granite_thought = {
    .name = "granite_thought",
    .flags = QR_FORMAT_KEEP_SPACE,
    .notation = QR_CALLS_JSON,
    .think_open = { "Here is my thought process:", "Here's my thought process:" },
    .think_close = { "Here is my response:", "Here's my response:" },
    .call_open = { "<|tool_call|>", "<tool_call>" },
    .call_close = { "</tool_call>" },
    .marks = { "Here is my thought process" },
    .syntax = &syntax,
};

const struct qr_output_format qr_format_granite4 = {
    .name = "granite4",
    .flags = QR_FORMAT_KEEP_SPACE | QR_FORMAT_NEEDS_CLOSE,
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "<tool_call>" },
    .call_close = { "</tool_call>" },
    .marks = { "<|start_of_role|>", "<tool_call>" },
    .syntax = &syntax4,
};
