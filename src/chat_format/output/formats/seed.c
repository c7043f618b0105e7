/* SPDX-License-Identifier: Apache-2.0 */
/* seed.c - ByteDance Seed-OSS: Qwen3-Coder's elements in <seed:tool_call>. */
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
    .trigger = "<seed:tool_call>",
    .open = "<seed:tool_call>\n<function=",
    .middle = ">\n",
    .close = "</function>\n</seed:tool_call>",
    .separator = "\n",
    .notation = "xml_parameters",
};

const struct qr_output_format qr_format_seed_oss = {
    .name = "seed_oss",
    .notation = QR_CALLS_XML,
    .think_open = { "<seed:think>" },
    .think_close = { "</seed:think>" },
    .section_open = { "<seed:tool_call>" },
    .section_close = { "</seed:tool_call>" },
    .call_open = { "<function=" },
    .xml = &xml,
    .marks = { "<seed:tool_call>" },
    .syntax = &syntax,
};
