/* SPDX-License-Identifier: Apache-2.0 */
/* mistral.c - Mistral: [TOOL_CALLS] with a JSON array, or a name and [ARGS]; Magistral. */
#include "chat_format/output/formats/formats.h"

static const struct qr_json_call json = { .id = { "id" }, .id_last = true };

static const struct qr_call_syntax array_syntax = {
    .trigger = "[TOOL_CALLS]",
    .begin = "[TOOL_CALLS][",
    .open = "{\"name\": \"",
    .middle = "\", \"arguments\": ",
    .close = "}",
    .separator = ", ",
    .end = "]",
};

/* 7B v0.3, Nemo, Mixtral 8x22B, Small up to 3.0 */
const struct qr_output_format qr_format_mistral = {
    .name = "mistral",
    .on_failure = QR_FAILURE_LOSES_MARKER,
    .notation = QR_CALLS_JSON,
    .call_open = { "[TOOL_CALLS]" },
    .json = &json,
    .marks = { "[TOOL_CALLS]" },
    .syntax = &array_syntax,
};

static const struct qr_named_call named = {
    .name_end = { "[CALL_ID]", "[ARGS]", "{" },
    .id_marker = "[CALL_ID]",
};

static const struct qr_call_syntax named_syntax = {
    .trigger = "[TOOL_CALLS]",
    .open = "[TOOL_CALLS]",
    .middle = "[ARGS]",
};

/* Small 3.2, Devstral, Ministral 3 */
const struct qr_output_format qr_format_mistral_v11 = {
    .name = "mistral_v11",
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_NAMED,
    .think_open = { "[THINK]" },
    .think_close = { "[/THINK]" },
    .call_open = { "[TOOL_CALLS]" },
    .named = &named,
    .any_mark = { "[ARGS]", "[CALL_ID]" },
    .syntax = &named_syntax,
};

/* Magistral: reasoning may follow content, white space stays */
const struct qr_output_format qr_format_magistral_think = {
    .name = "magistral_think",
    .flags = QR_FORMAT_KEEP_SPACE | QR_FORMAT_THINK_ANYWHERE,
    .on_failure = QR_FAILURE_IS_DROPPED,
    .notation = QR_CALLS_NAMED,
    .think_open = { "[THINK]" },
    .think_close = { "[/THINK]" },
    .call_open = { "[TOOL_CALLS]" },
    .named = &named,
    .any_mark = { "[THINK]" },
    .syntax = &named_syntax,
};
