/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - JSON of a request as text that the library reads: tools, schemas, variables. */
#ifndef QUIRE_SERVE_JSON_TEXT_H
#define QUIRE_SERVE_JSON_TEXT_H
#include "text.h"
#include <jansson.h>

/* Writes a value of fields_parse(), whose depth is limited. Unlike Jansson, numbers have as few
 * digits as they need, as in the request: 0.1, not 0.10000000000000001. */
void json_text_write(struct text *out, const json_t *value);

#endif
