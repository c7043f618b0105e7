/* SPDX-License-Identifier: Apache-2.0 */
/* notation.c - the predefined notations. */
#include "grammar/json_schema/notation.h"
#include <string.h>

/* clang-format off */
#define JSON_OBJECT                                                                               \
    { .open = "{", .close = "}", .separator = ",", .key_open = "\"", .key_close = "\":",          \
      .white_space = true }
#define JSON_VALUES                                                                               \
    .null_text = "null", .true_text = "true", .false_text = "false", .string_open = "\"",         \
    .string_close = "\"", .white_space = true, .object = JSON_OBJECT
#define PYTHON_VALUES                                                                             \
    .null_text = "None", .true_text = "True", .false_text = "False", .string_open = "\"",         \
    .string_close = "\"", .white_space = true, .object = JSON_OBJECT

const struct qr_notation qr_notation_json = { JSON_VALUES };
const struct qr_notation qr_notation_python = { PYTHON_VALUES };

static const struct qr_object_notation keyword_arguments = {
    .separator = ",", .key_close = "=", .bare_keys = true, .white_space = true,
};
const struct qr_notation qr_notation_keyword_arguments = {
    PYTHON_VALUES, .outer = &keyword_arguments,
};

static const struct qr_object_notation xml_parameters = {
    .key_open = "<parameter=", .key_close = ">\n", .member_close = "\n</parameter>\n",
    .bare_keys = true, .raw_strings = true, .excluded_lines = { "<parameter=", "</function>" },
};
const struct qr_notation qr_notation_xml_parameters = { JSON_VALUES, .outer = &xml_parameters };

static const struct qr_object_notation xml_named = {
    .key_open = "<parameter name=\"", .key_close = "\">", .member_close = "</parameter>\n",
    .bare_keys = true, .raw_strings = true,
};
const struct qr_notation qr_notation_xml_named = { JSON_VALUES, .outer = &xml_named };

static const struct qr_object_notation xml_atem = {
    .key_open = "<atem:parameter name=\"", .key_close = "\">",
    .member_close = "</atem:parameter>\n", .bare_keys = true, .raw_strings = true,
};
const struct qr_notation qr_notation_xml_atem = { JSON_VALUES, .outer = &xml_atem };

static const struct qr_object_notation arg_pairs = {
    .key_open = "<arg_key>", .key_close = "</arg_key>\n<arg_value>",
    .member_close = "</arg_value>\n", .bare_keys = true, .raw_strings = true,
};
const struct qr_notation qr_notation_arg_pairs = { JSON_VALUES, .outer = &arg_pairs };

static const struct qr_object_notation dsml = {
    .key_open = "<｜DSML｜parameter name=\"", .key_close = "\" string=\"false\">",
    .key_close_string = "\" string=\"true\">", .member_close = "</｜DSML｜parameter>\n",
    .bare_keys = true, .raw_strings = true,
};
const struct qr_notation qr_notation_dsml = { JSON_VALUES, .outer = &dsml };

#define GEMMA_VALUES(delimiter)                                                                   \
    .null_text = "null", .true_text = "true", .false_text = "false", .string_open = delimiter,    \
    .string_close = delimiter, .raw_strings = true,                                               \
    .object = { .open = "{", .close = "}", .separator = ",", .key_close = ":", .bare_keys = true }

const struct qr_notation qr_notation_gemma4 = { GEMMA_VALUES("<|\"|>") };
const struct qr_notation qr_notation_function_gemma = { GEMMA_VALUES("<escape>") };
/* clang-format on */

const struct qr_notation *qr_notation_find(const char *name)
{
    static const struct {
        const char *name;
        const struct qr_notation *notation;
    } table[] = {
        { "json", &qr_notation_json },
        { "python", &qr_notation_python },
        { "keyword_arguments", &qr_notation_keyword_arguments },
        { "xml_parameters", &qr_notation_xml_parameters },
        { "xml_named", &qr_notation_xml_named },
        { "xml_atem", &qr_notation_xml_atem },
        { "arg_pairs", &qr_notation_arg_pairs },
        { "dsml", &qr_notation_dsml },
        { "gemma4", &qr_notation_gemma4 },
        { "function_gemma", &qr_notation_function_gemma },
    };
    for (size_t i = 0; name && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].notation;
    return NULL;
}
