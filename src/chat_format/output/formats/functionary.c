/* SPDX-License-Identifier: Apache-2.0 */
/* functionary.c - Functionary 3.1 and 3.2. */
#include "chat_format/output/formats/formats.h"

static const struct qr_named_call v3_1 = { .name_end = { ">" } };

static const struct qr_call_syntax v3_1_syntax = {
    .trigger = "<function=",
    .open = "<function=",
    .middle = ">",
    .close = "</function>",
};

const struct qr_output_format qr_format_functionary_v3_1 = {
    .name = "functionary_v3_1",
    .flags = QR_FORMAT_CODE,
    .notation = QR_CALLS_NAMED,
    .skip = { "<|eom_id|>", "<|eot_id|>" },
    .call_open = { "<function=", "<|python_tag|>" },
    .call_close = { "</function>" },
    .named = &v3_1,
    .marks = { "<function=", "<|start_header_id|>" },
    .syntax = &v3_1_syntax,
};

static const struct qr_named_call v3_2 = { .name_end = { "\n" } };

static const struct qr_call_syntax v3_2_syntax = {
    .middle = "\n",
    .separator = ">>>",
    .content_open = "all\n",
};

/* The prompt ends with >>>. */
const struct qr_output_format qr_format_functionary_v3_2 = {
    .name = "functionary_v3_2",
    .flags = QR_FORMAT_STARTS_WITH_NAME | QR_FORMAT_CODE,
    .notation = QR_CALLS_NAMED,
    .skip = { ">>>all\n", "<|eot_id|>" },
    .call_open = { ">>>" },
    .named = &v3_2,
    .marks = { ">>>all" },
    .syntax = &v3_2_syntax,
};
