/* SPDX-License-Identifier: Apache-2.0 */
/* command_r.c - Cohere Command R7B, Command A, Command R+. */
#include "chat_format/output/formats/formats.h"

static const struct qr_json_call json = { .id = { "tool_call_id" } };

static const struct qr_call_syntax syntax = {
    .trigger = "<|START_ACTION|>",
    .begin = "<|START_ACTION|>[\n    ",
    .open = "{\"tool_call_id\": \"" QR_CALL_NUMBER "\", \"tool_name\": \"",
    .middle = "\", \"parameters\": ",
    .close = "}",
    .separator = ",\n    ",
    .end = "\n]<|END_ACTION|>",
    .content_open = "<|START_RESPONSE|>",
    .content_close = "<|END_RESPONSE|>",
};

const struct qr_output_format qr_format_command_r7b = {
    .name = "command_r7b",
    .notation = QR_CALLS_JSON,
    .think_open = { "<|START_THINKING|>" },
    .think_close = { "<|END_THINKING|>" },
    .skip = { "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
              "<|END_OF_TURN_TOKEN|>" },
    .section_open = { "<|START_ACTION|>" },
    .section_close = { "<|END_ACTION|>" },
    .json = &json,
    .any_mark = { "<|START_ACTION|>", "<|START_THINKING|>" },
    .syntax = &syntax,
};

static const struct qr_call_syntax plus_syntax = {
    .trigger = "Action:",
    .begin = "Action: ```json\n[\n    ",
    .open = "{\"tool_name\": \"",
    .middle = "\", \"parameters\": ",
    .close = "}",
    .separator = ",\n    ",
    .end = "\n]```",
};

const struct qr_output_format qr_format_command_r_plus = {
    .name = "command_r_plus",
    .notation = QR_CALLS_JSON,
    .skip = { "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>" },
    .section_open = { "Action:" },
    .call_open = { "```json" },
    .call_close = { "```" },
    .marks = { "Action:", "<|CHATBOT_TOKEN|>" },
    .syntax = &plus_syntax,
};
