/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - interprets the description of a format. */
#ifndef QR_CHAT_FORMAT_OUTPUT_MACHINE_H
#define QR_CHAT_FORMAT_OUTPUT_MACHINE_H
#include "chat_format/output/parser.h"

/* Builds the sets of markers and sets the state at the start of an answer. */
void qr_machine_start(struct quire_chat_output *o, const char *prompt_end, size_t size,
                      enum quire_thinking thinking);

/* Decides as much of o->in as can be decided. All of it if o->final. */
void qr_machine_run(struct quire_chat_output *o);

/* Whether the end of a prompt leaves a thinking block open: an opening marker stands in it without
 * a closing one behind. *at is the offset of the last opening marker. */
bool qr_prompt_opens_thinking(const struct qr_output_format *f, const char *text, size_t size,
                              size_t *at);

#endif
