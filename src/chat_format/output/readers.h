/* SPDX-License-Identifier: Apache-2.0 */
/* readers.h - readers of calls. A reader consumes text at the cursor of o->in; its state is
 * o->reader. It returns QR_STEP_GO after progress. At the end of the text (o->final) a reader never
 * returns QR_STEP_MORE. */
#ifndef QR_CHAT_FORMAT_OUTPUT_READERS_H
#define QR_CHAT_FORMAT_OUTPUT_READERS_H
#include "chat_format/output/parser.h"

enum qr_step qr_read_json_call(struct quire_chat_output *o);   /* QR_CALLS_JSON */
enum qr_step qr_read_named_call(struct quire_chat_output *o);  /* QR_CALLS_NAMED */
enum qr_step qr_read_xml_call(struct quire_chat_output *o);    /* QR_CALLS_XML */
enum qr_step qr_read_python_call(struct quire_chat_output *o); /* QR_CALLS_PYTHON */
enum qr_step qr_read_gemma_call(struct quire_chat_output *o);  /* QR_CALLS_GEMMA */
/* Raw code, up to a marker of end_set, as the argument `code` of the call that has begun. */
enum qr_step qr_read_code(struct quire_chat_output *o);

#endif
