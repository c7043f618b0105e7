/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - writes values of a parsed document. */
#ifndef QUIRE_CHAT_JSON_TEXT_H
#define QUIRE_CHAT_JSON_TEXT_H
#include "text.h"
#include "json/json.h"

/* Appends a value as JSON text in one line; numbers as they were written. */
void text_add_json_value(struct text *out, const struct qr_json *value);

#endif
