/* SPDX-License-Identifier: Apache-2.0 */
/* json_call.h - calls written as JSON objects: QR_CALLS_JSON. */
#ifndef QR_CHAT_FORMAT_OUTPUT_JSON_CALL_H
#define QR_CHAT_FORMAT_OUTPUT_JSON_CALL_H
#include "chat_format/output/parser.h"

/* A reader (parser.h). */
enum qr_step qr_read_json_call(struct quire_chat_output *o);

#endif
