/* SPDX-License-Identifier: Apache-2.0 */
/* messages_json.h - the messages of a JSON array. */
#ifndef QUIRE_CHAT_MESSAGES_JSON_H
#define QUIRE_CHAT_MESSAGES_JSON_H
#include "conversation.h"
#include "text.h"
#include "json/json.h"

/* Adds the messages of an array of objects in the form of OpenAI's API:
 *   role, content      a string, or an array of text parts, which are joined by newlines; a message
 *                      with tool_calls need not have content
 *   reasoning_content  a string
 *   tool_calls         array of {"id", "function": {"name", "arguments"}}; arguments are a string
 *                      or an object
 *   tool_call_id, name of a message with the role "tool": strings
 * Other members are null. False: something else, which is described in problem with its place; some
 * messages may have been added. */
bool messages_from_json(const struct qr_json *list, struct conversation *out, struct text *problem);

#endif
