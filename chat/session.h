/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a conversation with one open model. */
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
    const char *model_name; /* for people */
    struct conversation talk;
    struct settings settings;
    uint32_t attempt;        /* which answer to the last turn this is */
    struct quire_usage last; /* of the last answer */
    uint64_t answers, total_prompt, total_cached, total_completion;
};

/* Opens everything. On failure tells why and returns the exit code; 0 on success. */
int session_open(struct session *s, const struct options *o, struct output *out);
void session_close(struct session *s);

/* What an answer came to. */
enum answer_result { ANSWER_GIVEN, ANSWER_CANCELLED, ANSWER_FAILED };

/* Takes a turn of the user and streams the answer, which joins the conversation. With --no-cnv
 * the text is continued instead. A turn that fails leaves the conversation as it was. *status
 * tells how it failed. */
enum answer_result session_turn(struct session *s, const char *text, size_t size,
                                quire_status *status);

/* Answers the last turn anew, with other random choices. */
enum answer_result session_again(struct session *s, quire_status *status);

/* Forgets the conversation, but not the system prompt. False: memory ran out. */
bool session_reset(struct session *s);

/* Exit code of a failure; `opening`: while the model was being opened. */
int exit_code_of(quire_status status, const struct quire_error *err, bool opening);

/* Tables for --dry-run and /stats. */
void report_sizes(const struct session *s, struct text *out);
void report_stats(const struct session *s, struct text *out);

#endif
