/* SPDX-License-Identifier: Apache-2.0 */
/* qwen3_coder.c - Qwen3-Coder, Qwen3.5, Nemotron 3 Nano, Step 3.5: <function=NAME> with
 * <parameter=KEY>. */
#include "chat_format/output/formats/formats.h"

static const struct qr_xml_call xml = {
    .name_end = ">",
    .parameter = "<parameter=",
    .key_end = ">",
    .value_end = "</parameter>",
    .close = "</function>",
    .strip_newline = true,
};

static const struct qr_call_syntax syntax = {
    .trigger = "<tool_call>",
    .open = "<tool_call>\n<function=",
    .middle = ">\n",
    .close = "</function>\n</tool_call>",
    .separator = "\n",
    .notation = "xml_parameters",
};

const struct qr_output_format qr_format_qwen3_coder_xml = {
    .name = "qwen3_coder_xml",
    .flags = QR_FORMAT_KEEP_REPEATED_OPENER | QR_FORMAT_CALLS_END_THINKING,
    .notation = QR_CALLS_XML,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .section_open = { "<tool_call>" },
    .section_close = { "</tool_call>" },
    .call_open = { "<function=" },
    .xml = &xml,
    .marks = { "<function=", "<parameter=", "<tool_call>" },
    .syntax = &syntax,
};
