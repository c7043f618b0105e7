/* SPDX-License-Identifier: Apache-2.0 */
/* llama3.c - Llama 3.1 to 3.3: an object with name and parameters, builtin tools after
 * <|python_tag|>. */
#include "chat_format/output/formats/formats.h"

static const struct qr_call_syntax syntax = {
    .open = "{\"name\": \"",
    .middle = "\", \"parameters\": ",
    .close = "}",
    .separator = "; ",
};

#define LLAMA3                                                                                     \
    .flags = QR_FORMAT_NEEDS_ARGUMENTS | QR_FORMAT_CODE, .notation = QR_CALLS_JSON,                \
    .skip = { "<|eom_id|>", "<|eot_id|>" }, .call_open = { "<|python_tag|>" },                     \
    .body_open = { "{" }, .preamble_bytes = 64, .syntax = &syntax

const struct qr_output_format qr_format_llama3_json = {
    .name = "llama3_json",
    LLAMA3,
    .any_mark = { "<|python_tag|>", "<|eom_id|>", "<|start_header_id|>" },
};

const struct qr_output_format qr_format_llama3_python_tag = {
    .name = "llama3_python_tag",
    LLAMA3,
};
