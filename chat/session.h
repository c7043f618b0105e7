/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the conversations with an open model. */
#ifndef QUIRE_CHAT_SESSION_H
#define QUIRE_CHAT_SESSION_H
#include "answer.h"
#include "answer_form.h"
#include "conversation_list.h"
#include "options.h"
#include "repeat_guard.h"
#include "settings.h"
#include "tools.h"

struct session {
    const struct options *options;
    struct output *out;
    struct quire_engine *engine;
    struct quire_model_info model;
    struct quire_engine_info info;
    const char *model_name; /* for display */
    float lora_scale;       /* of --lora */
    bool raw;               /* turns are texts of their own: --no-cnv, or an encoder-decoder */
    struct conversation_list conversations;
    struct conversation *conversation; /* the current one, of the list */
    bool keeps_cache;                  /* the file of --prompt-cache may be written */
    struct settings settings;
    struct quire_grammar *grammar; /* of the answers, or NULL (constraint.h) */
    struct text schema;            /* of --json-schema; empty = none */
    struct tools tools;
    struct answer_form form;
    struct answer answer; /* the current or last one */
    struct repeat_guard repeat_guard;
    bool repeats;            /* the guard has ended the current answer */
    struct quire_usage last; /* of the last answer */
    uint64_t n_answers, total_prompt, total_cached, total_completion; /* tokens, but n_answers */
};

/* Opens the engine and applies the options. Returns 0, or after printing the failure its exit
 * code. */
int session_open(struct session *s, const struct options *o, struct output *out);
void session_close(struct session *s);

/* Saves the prefix cache in the file of --prompt-cache, if given. A failure is a warning. */
void session_save_cache(const struct session *s);

/* Whether standard input holds turns and commands, not a prompt or turns alone. */
bool session_is_interactive(const struct options *o);

/* Tokens that are drafted per step; 0 if none of the options asks for drafts. */
uint32_t session_draft_tokens(const struct options *o);

/* Prints an error of the library in terms of the options, after the last part of path if that is
 * not NULL, the error comes from a file, and the message lacks its name. */
void session_report_error(struct session *s, quire_status status, const char *message,
                          const char *path);

/* Sets the system message; NULL removes it. False: out of memory. */
bool session_set_system(struct session *s, const char *text);

void session_reset(struct session *s); /* clears the conversation but the system message */
bool session_undo(struct session *s);  /* removes the last turn; false: there is none */

/* Begins a conversation with the system message of the current one and makes it the current one.
 * name: NULL or one that conversation_list_check_name() accepts. False: out of memory. */
bool session_new(struct session *s, const char *name);

/* Removes the current conversation. The one before it in the list becomes the current one, or the
 * one after it; without others session_new() begins one. False: out of memory, nothing changed. */
bool session_close_conversation(struct session *s);

/* Replaces the conversation as conversation_load() does; returns its result. */
int session_load(struct session *s, const char *path);

#endif
