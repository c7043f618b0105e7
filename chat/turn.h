/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - turns of a conversation. */
#ifndef QUIRE_CHAT_TURN_H
#define QUIRE_CHAT_TURN_H
#include "session.h"

enum turn_result { TURN_DONE, TURN_CANCELLED, TURN_FAILED };

/* Adds a user message, streams the answer and adds it to the conversation; with --no-cnv completes
 * the text instead. A failed turn leaves the conversation unchanged. */
enum turn_result turn_run(struct session *s, const char *text, size_t size, quire_status *status);

/* Generates the last answer again with another random number stream. */
enum turn_result turn_regenerate(struct session *s, quire_status *status);

/* Continues the last answer, or answers a last user message. */
enum turn_result turn_continue(struct session *s, quire_status *status);

#endif
