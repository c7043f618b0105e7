/* SPDX-License-Identifier: Apache-2.0 */
/* muse_glimmer.c - Muse Glimmer: messages with recipients; calls in ATEM elements. */
#include "chat_format/output/formats/formats.h"

static const struct qr_xml_call xml = {
    .name_end = "\"",
    .doubled_name = true,
    .parameter = "<atem:parameter name=\"",
    .key_end = "\"",
    .value_end = "</atem:parameter>",
    .close = "</atem:invoke>",
    .null_is_null = true,
};

/* The template gives a tool without a namespace its own name as one. */
static const struct qr_call_syntax syntax = {
    .open = " to=",
    .middle = "<|message|><atem:function_calls>\n<atem:invoke name=\"" QR_CALL_NAME "\">\n",
    .doubled_name = true,
    .close = "</atem:invoke>\n</atem:function_calls>",
    .separator = "<|eom|><|start|>assistant",
    .notation = "xml_atem",
    .content_open = " to=user<|message|>",
    .think_open = " to=self<|message|>",
    .think_close = "<|eom|><|start|>assistant",
};

const struct qr_output_format qr_format_muse_glimmer = {
    .name = "muse_glimmer",
    .flags = QR_FORMAT_RECIPIENTS,
    .notation = QR_CALLS_XML,
    .skip = { "<|eom|>", "<|eot|>" },
    .section_open = { "<atem:function_calls>" },
    .section_close = { "</atem:function_calls>" },
    .call_open = { "<atem:invoke name=\"" },
    .xml = &xml,
    .marks = { "<atem:function_calls>" },
    .syntax = &syntax,
};
