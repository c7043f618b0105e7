/* SPDX-License-Identifier: Apache-2.0 */
/* tool_arguments.h - arguments of earlier tool calls as objects. */
#ifndef QR_CHAT_FORMAT_TOOL_ARGUMENTS_H
#define QR_CHAT_FORMAT_TOOL_ARGUMENTS_H
#include "jinja/types.h"

/* Replaces `arguments` of the calls in `tool_calls` and `function_call` of a message by an object
 * where they are a string with one, as in OpenAI's API: templates write them with tojson, which
 * would quote the string. The object keeps the string as its text, for templates that print or
 * join it. Strings with anything else stay strings. */
quire_status qr_chat_parse_arguments(struct qr_jinja *j, struct qr_jinja_value message);

#endif
