/* SPDX-License-Identifier: Apache-2.0 */
/* sections.h - markup of calls: sections, calls, and what fails to be one. */
#ifndef QR_CHAT_FORMAT_OUTPUT_SECTIONS_H
#define QR_CHAT_FORMAT_OUTPUT_SECTIONS_H
#include "chat_format/output/parser.h"

/* Begins markup that may still turn out to be text.
 *   start  of the text that is not sent: the preamble, or the marker
 *   pos    of the marker, or, with body, of the first character of a call, of `size` bytes */
void qr_markup_begin(struct quire_chat_output *o, size_t start, size_t pos, size_t size, bool body);
/* The markup holds no call: it becomes what the format says. */
void qr_markup_fail(struct quire_chat_output *o);
/* Calls have ended: what follows is content. */
void qr_sections_end(struct quire_chat_output *o);

/* Steps of the machine in the states CALL, AFTER, SECTION and DROP. */
enum qr_step qr_in_call(struct quire_chat_output *o);
enum qr_step qr_after_call(struct quire_chat_output *o);
enum qr_step qr_in_section(struct quire_chat_output *o);
enum qr_step qr_in_drop(struct quire_chat_output *o);

#endif
