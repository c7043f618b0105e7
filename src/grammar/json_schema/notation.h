/* SPDX-License-Identifier: Apache-2.0 */
/* notation.h - how the values of a schema are written: JSON, Python literals, keyword arguments,
 * XML-like parameters, bare keys. Data only; schema.h builds grammars from it. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_NOTATION_H
#define QR_GRAMMAR_JSON_SCHEMA_NOTATION_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>

/* How an object is written:
 *     open [member {separator member}] close
 *     member = key_open KEY key_close VALUE member_close
 * All texts are UTF-8 without NUL, NULL counts as "". The names of control tokens in them, as
 * <arg_value> in some vocabularies, become those tokens. */
struct qr_object_notation {
    const char *open, *close, *separator;
    const char *key_open, *key_close, *member_close;
    /* key_close before a value that is written as raw text; NULL: the same. DSML:
     * `" string="true">` beside `" string="false">` */
    const char *key_close_string;
    /* keys are their characters as they are; otherwise contents of JSON strings. Properties whose
     * name contains the first character of key_close cannot be written and are refused, and keys
     * that the schema does not declare are identifiers: [A-Za-z_][A-Za-z0-9_.-]* */
    bool bare_keys;
    /* strings that are values of members are raw text without quotes, up to member_close, which
     * they do not contain. A schema that allows strings and other types allows both forms */
    bool raw_strings;
    /* raw text has no line that begins with one of these, at which parsers end the value; NULL =
     * none */
    const char *excluded_lines[2];
    bool white_space; /* optional white space around keys and separators, unless compact */
};

struct qr_notation {
    const char *null_text, *true_text, *false_text;
    /* strings inside values: the delimiters, and whether the text between is raw, without escapes
     * and without string_close; otherwise the contents of a JSON string */
    const char *string_open, *string_close;
    bool raw_strings;
    bool white_space;                       /* around the brackets and commas of arrays */
    struct qr_object_notation object;       /* of objects inside values */
    const struct qr_object_notation *outer; /* of the outermost object; NULL: as `object` */
};

/* {"a": [1, true, null, "x"]} */
extern const struct qr_notation qr_notation_json;
/* {"a": [1, True, None, "x"]}: Python literals, with the escapes of JSON in strings */
extern const struct qr_notation qr_notation_python;
/* a=1, b="x": keyword arguments of a call, without the parentheses; Python literals inside */
extern const struct qr_notation qr_notation_keyword_arguments;
/* <parameter=KEY>\nVALUE\n</parameter>\n for each member: Qwen3-Coder */
extern const struct qr_notation qr_notation_xml_parameters;
/* <parameter name="KEY">VALUE</parameter>: MiniMax */
extern const struct qr_notation qr_notation_xml_named;
/* <atem:parameter name="KEY">VALUE</atem:parameter>\n: Muse Glimmer */
extern const struct qr_notation qr_notation_xml_atem;
/* <arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n: GLM 4.5 */
extern const struct qr_notation qr_notation_arg_pairs;
/* <｜DSML｜parameter name="KEY" string="true|false">VALUE</｜DSML｜parameter>\n: DeepSeek V3.2 */
extern const struct qr_notation qr_notation_dsml;
/* {k:<|"|>text<|"|>,n:1}: Gemma 4; <escape>text<escape>: FunctionGemma */
extern const struct qr_notation qr_notation_gemma4;
extern const struct qr_notation qr_notation_function_gemma;

/* A predefined notation by its name: json, python, keyword_arguments, xml_parameters, xml_named,
 * xml_atem, arg_pairs, dsml, gemma4, function_gemma. NULL = none of these. */
const struct qr_notation *qr_notation_find(const char *name);

#endif
