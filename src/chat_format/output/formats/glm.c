/* SPDX-License-Identifier: Apache-2.0 */
/* glm.c - GLM 4.5, 4.6, 4.7: <tool_call>NAME with pairs of <arg_key> and <arg_value>. */
#include "chat_format/output/formats/formats.h"

static const struct qr_xml_call xml = {
    .parameter = "<arg_key>",
    .key_end = "</arg_key>",
    .value = "<arg_value>",
    .value_end = "</arg_value>",
};

static const struct qr_call_syntax syntax = {
    .trigger = "<tool_call>",
    .open = "<tool_call>",
    .middle = "\n",
    .close = "</tool_call>",
    .separator = "\n",
    .notation = "arg_pairs",
};

const struct qr_output_format qr_format_glm4_5_xml = {
    .name = "glm4_5_xml",
    .flags = QR_FORMAT_CALLS_END_THINKING,
    .notation = QR_CALLS_XML,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .call_open = { "<tool_call>" },
    .call_close = { "</tool_call>" },
    .xml = &xml,
    .marks = { "<arg_key>" },
    .syntax = &syntax,
};
