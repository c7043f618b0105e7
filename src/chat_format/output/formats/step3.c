/* SPDX-License-Identifier: Apache-2.0 */
/* step3.c - StepFun Step3: steptml elements in marked calls. */
#include "chat_format/output/formats/formats.h"

static const struct qr_xml_call xml = {
    .prefix = "function<｜tool_sep｜>",
    .prefix_end = "<steptml:invoke",
    .invoke = "<steptml:invoke name=\"",
    .name_end = "\"",
    .parameter = "<steptml:parameter name=\"",
    .key_end = "\"",
    .value_end = "</steptml:parameter>",
    .close = "</steptml:invoke>",
};

const struct qr_output_format qr_format_step3 = {
    .name = "step3",
    .notation = QR_CALLS_XML,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .section_open = { "<｜tool_calls_begin｜>" },
    .section_close = { "<｜tool_calls_end｜>" },
    .call_open = { "<｜tool_call_begin｜>" },
    .call_close = { "<｜tool_call_end｜>" },
    .xml = &xml,
    .any_mark = { "<｜tool_calls_begin｜>", "steptml" },
};
