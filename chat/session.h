/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a conversation with an open model. */
#ifndef QUIRE_CHAT_SESSION_H
#define QUIRE_CHAT_SESSION_H
#include "conversation.h"
#include "options.h"
#include "output.h"

struct session {
    const struct options *options;
    struct output *out;
    struct quire_engine *engine;
    struct quire_model_info model;
    struct quire_engine_info info;
    const char *model_name; /* for display */
    struct conversation conversation;
    struct settings settings;
    uint32_t regenerations;  /* of the last turn: selects the random number stream */
    struct quire_usage last; /* of the last answer */
    uint64_t n_answers, total_prompt, total_cached, total_completion; /* tokens, but n_answers */
};

/* Opens the engine and applies the options. Returns 0, or after printing the failure its exit
 * code. */
int session_open(struct session *s, const struct options *o, struct output *out);
void session_close(struct session *s);

enum turn_result { TURN_DONE, TURN_CANCELLED, TURN_FAILED };

/* Adds a user message, streams the answer and adds it to the conversation; with --no-cnv completes
 * the text instead. A failed turn leaves the conversation unchanged. */
enum turn_result session_turn(struct session *s, const char *text, size_t size,
                              quire_status *status);

/* Generates the last answer again with another random number stream. */
enum turn_result session_regenerate(struct session *s, quire_status *status);

/* Clears the conversation but the system message. False: out of memory. */
bool session_reset(struct session *s);

#endif
