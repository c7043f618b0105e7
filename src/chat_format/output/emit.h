/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - what a parser sends: text and calls. Failures of allocation set o->status. */
#ifndef QR_CHAT_FORMAT_OUTPUT_EMIT_H
#define QR_CHAT_FORMAT_OUTPUT_EMIT_H
#include "chat_format/output/parser.h"

/* Records that memory ran out. */
void qr_emit_nomem(struct quire_chat_output *o);

/* Content as the text rules of the format want it. */
void qr_emit_content(struct quire_chat_output *o, const char *text, size_t size);
/* Content as it is. */
void qr_emit_content_raw(struct quire_chat_output *o, const char *text, size_t size);
void qr_emit_reasoning(struct quire_chat_output *o, const char *text, size_t size);
/* Sends the white space that was held, or forgets it. */
void qr_emit_space(struct quire_chat_output *o, bool reasoning, bool keep);

/* Begins a call, which is not sent yet. */
void qr_call_begin(struct quire_chat_output *o);
/* Sets its name. A name that is not on offer or holds U+0000 drops the call: names and ids are
 * passed on as NUL-terminated strings. */
void qr_call_name(struct quire_chat_output *o, const char *name, size_t size);
/* Sets its id, once. An id that is empty or holds U+0000 is replaced by a generated one. */
void qr_call_id(struct quire_chat_output *o, const char *id, size_t size);
/* Sends BEGIN and the arguments so far, unless the format holds calls. The markup before is decided
 * then. */
void qr_call_announce(struct quire_chat_output *o);
void qr_call_arguments(struct quire_chat_output *o, const char *text, size_t size);
void qr_call_escaped(struct quire_chat_output *o, const char *text, size_t size);
/* The call is complete: sends what is left of it. Without arguments they are {}. */
void qr_call_end(struct quire_chat_output *o);
/* Forgets the call, if it was not sent; else ends it with the arguments as they are. */
void qr_call_cancel(struct quire_chat_output *o);
/* The call that is not complete. */
struct qr_output_call *qr_call_current(struct quire_chat_output *o);
/* Its tool; NULL = unknown. */
const struct qr_tool *qr_call_tool(struct quire_chat_output *o);

#endif
