/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek.c - DeepSeek R1, V3, V3.1, V3.2. */
#include "chat_format/output/formats/formats.h"

/* Distilled models shorten and misspell the opening marker. */
#define SECTION                                                                                    \
    .section_open = { "<｜tool▁calls▁begin｜>", "<｜tool▁calls｜>", "<｜tool_calls_begin｜>",      \
                      "<｜tool calls begin｜>", "<｜tool\\_calls\\_begin｜>" },                    \
    .section_close = { "<｜tool▁calls▁end｜>" }, .call_open = { "<｜tool▁call▁begin｜>" },         \
    .call_close = { "<｜tool▁call▁end｜>" }, .think_open = { "<think>" },                          \
    .think_close = { "</think>" }, .notation = QR_CALLS_NAMED

static const struct qr_named_call fenced = {
    .name_prefix = "function<｜tool▁sep｜>",
    .name_end = { "\n" },
    .arguments_open = "```json",
    .arguments_close = "```",
};

static const struct qr_call_syntax fenced_syntax = {
    .trigger = "<｜tool▁calls▁begin｜>",
    .begin = "<｜tool▁calls▁begin｜>",
    .open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    .middle = "\n```json\n",
    .close = "\n```<｜tool▁call▁end｜>",
    .separator = "\n",
    .end = "<｜tool▁calls▁end｜>",
};

const struct qr_output_format qr_format_deepseek_r1 = {
    .name = "deepseek_r1",
    .flags = QR_FORMAT_CALL_OPEN_OPTIONAL,
    SECTION,
    .named = &fenced,
    .marks = { "<｜tool▁calls▁begin｜>", "```json", "<think>" },
    .syntax = &fenced_syntax,
};

const struct qr_output_format qr_format_deepseek_v3 = {
    .name = "deepseek_v3",
    .flags = QR_FORMAT_CALL_OPEN_OPTIONAL,
    SECTION,
    .named = &fenced,
    .marks = { "<｜tool▁calls▁begin｜>", "```json" },
    .syntax = &fenced_syntax,
};

static const struct qr_named_call plain = {
    .name_prefix = "function<｜tool▁sep｜>",
    .name_end = { "<｜tool▁sep｜>" },
};

static const struct qr_call_syntax plain_syntax = {
    .trigger = "<｜tool▁calls▁begin｜>",
    .begin = "<｜tool▁calls▁begin｜>",
    .open = "<｜tool▁call▁begin｜>",
    .middle = "<｜tool▁sep｜>",
    .close = "<｜tool▁call▁end｜>",
    .end = "<｜tool▁calls▁end｜>",
};

const struct qr_output_format qr_format_deepseek_v3_1 = {
    .name = "deepseek_v3_1",
    .flags = QR_FORMAT_CALL_OPEN_OPTIONAL,
    SECTION,
    .named = &plain,
    .marks = { "<｜tool▁calls▁begin｜>" },
    .syntax = &plain_syntax,
};

static const struct qr_xml_call dsml = {
    .name_end = "\"",
    .parameter = "<｜DSML｜parameter name=\"",
    .key_end = "\"",
    .value_end = "</｜DSML｜parameter>",
    .close = "</｜DSML｜invoke>",
};

static const struct qr_call_syntax dsml_syntax = {
    .trigger = "<｜DSML｜function_calls>",
    .begin = "<｜DSML｜function_calls>\n",
    .open = "<｜DSML｜invoke name=\"",
    .middle = "\">\n",
    .close = "</｜DSML｜invoke>\n",
    .end = "</｜DSML｜function_calls>",
    .notation = "dsml",
};

const struct qr_output_format qr_format_deepseek_v3_2 = {
    .name = "deepseek_v3_2",
    .flags = QR_FORMAT_TRIM_CONTENT,
    .notation = QR_CALLS_XML,
    .think_open = { "<think>" },
    .think_close = { "</think>" },
    .section_open = { "<｜DSML｜function_calls>", "<｜DSML｜tool_calls>" },
    .section_close = { "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>" },
    .call_open = { "<｜DSML｜invoke name=\"" },
    .xml = &dsml,
    .marks = { "｜DSML｜" },
    .syntax = &dsml_syntax,
};
