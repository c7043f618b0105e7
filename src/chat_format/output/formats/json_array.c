/* SPDX-License-Identifier: Apache-2.0 */
/* json_array.c - Formats with a marked JSON array: Nemotron Nano v2, Apriel, Hunyuan A13B,
 * Phi-4-mini, FireFunction, xLAM, Apertus. */
#include "chat_format/output/formats/formats.h"

#define ARRAY_SYNTAX(before, after)                                                                \
    {                                                                                              \
        .trigger = before, .begin = before "[", .open = "{\"name\": \"",                           \
        .middle = "\", \"arguments\": ", .close = "}", .separator = ", ", .end = "]" after,        \
    }

static const struct qr_call_syntax nemotron_syntax = ARRAY_SYNTAX("<TOOLCALL>", "</TOOLCALL>");
static const struct qr_call_syntax tool_calls_syntax =
    ARRAY_SYNTAX("<tool_calls>", "</tool_calls>");
static const struct qr_call_syntax functools_syntax = ARRAY_SYNTAX("functools", "");
static const struct qr_call_syntax xlam_syntax = ARRAY_SYNTAX("<tool_call>", "</tool_call>");

const struct qr_output_format qr_format_nemotron = {
    .name = "nemotron",
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .skip = { "<SPECIAL_12>" },
    .section_open = { "<TOOLCALL>" },
    .section_close = { "</TOOLCALL>" },
    .marks = { "<TOOLCALL>" },
    .syntax = &nemotron_syntax,
};

/* 1.6 ends its prompt with the phrase that opens the reasoning. */
const struct qr_output_format qr_format_apriel = {
    .name = "apriel",
    .notation = QR_CALLS_JSON,
    .think_open = { "Here are my reasoning steps:", "<thinking>" },
    .think_close = { "[BEGIN FINAL RESPONSE]", "</thinking>" },
    .skip = { "[END FINAL RESPONSE]", "<|end|>" },
    .section_open = { "<tool_calls>" },
    .section_close = { "</tool_calls>" },
    .any_mark = { "[BEGIN FINAL RESPONSE]", "Here are my reasoning steps", "Apriel" },
    .syntax = &tool_calls_syntax,
};

const struct qr_output_format qr_format_hunyuan_a13b = {
    .name = "hunyuan_a13b",
    .flags = QR_FORMAT_DROP_AFTER_CALLS,
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .skip = { "<answer>", "\n</answer>", "</answer>" },
    .section_open = { "<tool_calls>" },
    .section_close = { "</tool_calls>" },
    .marks = { "<tool_calls>" },
    .syntax = &tool_calls_syntax,
};

const struct qr_output_format qr_format_phi4 = {
    .name = "phi4",
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "functools" },
    .any_mark = { "<|tool|>", "<|/tool|>" },
    .syntax = &functools_syntax,
};

const struct qr_output_format qr_format_firefunction = {
    .name = "firefunction",
    .notation = QR_CALLS_JSON,
    .call_open = { "functools" },
    .marks = { "functools" },
    .syntax = &functools_syntax,
};

const struct qr_output_format qr_format_xlam = {
    .name = "xlam",
    .flags = QR_FORMAT_TRIM_CONTENT,
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "[TOOL_CALLS]", "<tool_call>", "```json", "```" },
    .call_close = { "</tool_call>", "```" },
    .body_open = { "[" },
    .marks = { "xLAM" },
    .syntax = &xlam_syntax,
};

static const struct qr_json_call apertus = { .key_is_name = true };

static const struct qr_call_syntax apertus_syntax = {
    .trigger = "<|tools_prefix|>",
    .begin = "<|tools_prefix|>[",
    .open = "{\"",
    .middle = "\": ",
    .close = "}",
    .separator = ", ",
    .end = "]<|tools_suffix|>",
};

const struct qr_output_format qr_format_apertus = {
    .name = "apertus",
    .notation = QR_CALLS_JSON,
    .think_open = { "<|inner_prefix|>" },
    .think_close = { "<|inner_suffix|>" },
    .section_open = { "<|tools_prefix|>" },
    .section_close = { "<|tools_suffix|>" },
    .json = &apertus,
    .marks = { "<|tools_prefix|>" },
    .syntax = &apertus_syntax,
};
