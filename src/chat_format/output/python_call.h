/* SPDX-License-Identifier: Apache-2.0 */
/* python_call.h - calls written as Python: QR_CALLS_PYTHON. */
#ifndef QR_CHAT_FORMAT_OUTPUT_PYTHON_CALL_H
#define QR_CHAT_FORMAT_OUTPUT_PYTHON_CALL_H
#include "chat_format/output/parser.h"

/* A reader (parser.h). */
enum qr_step qr_read_python_call(struct quire_chat_output *o);

#endif
