/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a conversation with an open model. */
#ifndef QUIRE_CHAT_SESSION_H
#define QUIRE_CHAT_SESSION_H
#include "conversation.h"
#include "options.h"
#include "output.h"
#include "repeat_guard.h"
#include "settings.h"

struct session {
    const struct options *options;
    struct output *out;
    struct quire_engine *engine;
    struct quire_model_info model;
    struct quire_engine_info info;
    const char *model_name; /* for display */
    struct conversation conversation;
    size_t first; /* the prompt has the messages before the first turn, and those from here on */
    bool roll_reported; /* for this conversation */
    bool keeps_cache;   /* the file of --prompt-cache may be written */
    struct settings settings;
    struct repeat_guard repeat_guard;
    bool repeats;            /* the guard has ended the current answer */
    uint32_t regenerations;  /* of the last turn: selects the random number stream */
    struct quire_usage last; /* of the last answer */
    uint64_t n_answers, total_prompt, total_cached, total_completion; /* tokens, but n_answers */
};

/* Opens the engine and applies the options. Returns 0, or after printing the failure its exit
 * code. */
int session_open(struct session *s, const struct options *o, struct output *out);
void session_close(struct session *s);

/* Saves the prefix cache in the file of --prompt-cache, if given. A failure is a warning. */
void session_save_cache(const struct session *s);

/* Prints an error of the library in terms of the options, after the last part of path if that is
 * not NULL, the error comes from a file, and the message lacks its name. */
void session_report_error(struct session *s, quire_status status, const char *message,
                          const char *path);

/* Sets the system message; NULL removes it. False: out of memory. */
bool session_set_system(struct session *s, const char *text);

void session_reset(struct session *s); /* clears the conversation but the system message */
bool session_undo(struct session *s);  /* removes the last turn; false: there is none */

/* Replaces the conversation as conversation_load() does; returns its result. */
int session_load(struct session *s, const char *path);

#endif
