/* SPDX-License-Identifier: Apache-2.0 */
/* answer_form.h - how answers are split into content, reasoning and calls, and which calls and
 * content they may have. */
#ifndef QUIRE_CHAT_ANSWER_FORM_H
#define QUIRE_CHAT_ANSWER_FORM_H
#include <quire/quire.h>

struct session;

struct answer_form {
    const char *format; /* of quire/chat_output.h; NULL: text is content as it comes */
    bool has_thinking;  /* the chat template has marks of reasoning */
    char *variables;    /* of the chat template, a JSON object, or NULL */
    char *note;         /* describes the tools to a model whose template does not, or NULL */
    char *grammar;      /* of the current request, or NULL */
};

/* Chooses the format by the text of the chat template (NULL: there is none) and checks that calls
 * of the tools can be constrained. The engine is open. Returns 0, or after printing the failure its
 * exit code. */
int answer_form_open(struct session *s, const char *template_text);
void answer_form_close(struct session *s);

/* Sets what the chat template reads beside messages. */
void answer_form_set(const struct session *s, struct quire_request_params *request);

/* Gives s->answer its parser and the request its grammar; the messages are set. On failure the
 * status and the message are those of the request. */
quire_status answer_form_begin(struct session *s, struct quire_request_params *request,
                               struct quire_error *err);

#endif
