/* SPDX-License-Identifier: Apache-2.0 */
/* minimax.c - MiniMax M2: <invoke name="N"> with <parameter name="K"> in <minimax:tool_call>. */
#include "chat_format/output/formats/formats.h"

static const struct qr_xml_call xml = {
    .name_end = "\"",
    .parameter = "<parameter name=\"",
    .key_end = "\"",
    .value_end = "</parameter>",
    .close = "</invoke>",
    .null_is_null = true,
    .unknown_is_string = true,
};

static const struct qr_call_syntax syntax = {
    .trigger = "<minimax:tool_call>",
    .begin = "<minimax:tool_call>\n",
    .open = "<invoke name=\"",
    .middle = "\">\n",
    .close = "</invoke>\n",
    .end = "</minimax:tool_call>",
    .notation = "xml_named",
};

const struct qr_output_format qr_format_minimax_m2 = {
    .name = "minimax_m2",
    .flags = QR_FORMAT_DROP_STRAY_CLOSE,
    .notation = QR_CALLS_XML,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .section_open = { "<minimax:tool_call>" },
    .section_close = { "</minimax:tool_call>" },
    .call_open = { "<invoke name=\"" },
    .xml = &xml,
    .marks = { "<minimax:tool_call>" },
    .syntax = &syntax,
};
