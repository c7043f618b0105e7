/* SPDX-License-Identifier: Apache-2.0 */
/* json_object.c - Formats with one marked JSON object: GigaChat 3, InternLM2; JSON without
 * markers. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax gigachat_syntax = {
    .trigger = "<|message_sep|>",
    .open = "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "}",
    .single = true,
};

const struct qr_output_format qr_format_gigachat3 = {
    .name = "gigachat3",
    .notation = QR_CALLS_JSON,
    .skip = { "<|message_sep|>" },
    .call_open = { "<|message_sep|>\n\nfunction call<|role_sep|>\n", "<|function_call|>" },
    .any_mark = { "function call<|role_sep|>", "<|function_call|>", "<|role_sep|>" },
    .syntax = &gigachat_syntax,
};

static const struct qr_call_syntax internlm2_syntax = {
    .trigger = "<|action_start|>",
    .open = "<|action_start|><|plugin|>{\"name\": \"",
    .middle = "\", \"parameters\": ",
    .close = "}<|action_end|>",
    .single = true,
};

const struct qr_output_format qr_format_internlm2 = {
    .name = "internlm2",
    .flags = QR_FORMAT_TRIM_CONTENT,
    .notation = QR_CALLS_JSON,
    .call_open = { "<|action_start|><|plugin|>", "<|action_start|> <|plugin|>" },
    .call_close = { "<|action_end|>" },
    .marks = { "<|plugin|>" },
    .syntax = &internlm2_syntax,
};

static const struct qr_json_call generic = { .id = { "id" }, .id_last = true, .wrapped = true };

static const struct qr_call_syntax generic_syntax = {
    .trigger = "{\"tool_calls\":",
    .begin = "{\"tool_calls\": [",
    .open = "{\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "}",
    .separator = ", ",
    .end = "]}",
};

/* For models without calls of their own. */
const struct qr_output_format qr_format_generic_json = {
    .name = "generic_json",
    .flags = QR_FORMAT_NEEDS_ARGUMENTS,
    .notation = QR_CALLS_JSON,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .body_open = { "{", "[" },
    .json = &generic,
    .syntax = &generic_syntax,
};

const struct qr_output_format qr_format_content_only = { .name = "content_only" };
