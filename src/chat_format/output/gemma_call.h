/* SPDX-License-Identifier: Apache-2.0 */
/* gemma_call.h - calls in Gemma's notation: QR_CALLS_GEMMA. */
#ifndef QR_CHAT_FORMAT_OUTPUT_GEMMA_CALL_H
#define QR_CHAT_FORMAT_OUTPUT_GEMMA_CALL_H
#include "chat_format/output/parser.h"

/* A reader (parser.h). */
enum qr_step qr_read_gemma_call(struct quire_chat_output *o);

#endif
