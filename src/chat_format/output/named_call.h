/* SPDX-License-Identifier: Apache-2.0 */
/* named_call.h - calls written as a name and JSON arguments: QR_CALLS_NAMED. */
#ifndef QR_CHAT_FORMAT_OUTPUT_NAMED_CALL_H
#define QR_CHAT_FORMAT_OUTPUT_NAMED_CALL_H
#include "chat_format/output/parser.h"

/* A reader (parser.h). */
enum qr_step qr_read_named_call(struct quire_chat_output *o);

/* Raw code, up to a marker of end_set, as the argument `code` of the call that has begun. */
enum qr_step qr_read_code(struct quire_chat_output *o);

#endif
