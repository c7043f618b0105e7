/* SPDX-License-Identifier: Apache-2.0 */
/* structured.c - answers one question with JSON that follows a schema.
 * Usage: structured MODEL QUESTION SCHEMA */
#include <quire/quire.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: structured MODEL QUESTION SCHEMA\n"), 64;
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&err); /* on failure a lower ISA level runs */
    struct quire_engine *engine;
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = argv[1];
    if (quire_engine_open(&ep, &engine, &err) != QUIRE_OK)
        return fprintf(stderr, "%s\n", err.msg), 65;

    struct quire_chat_message question = { .role = "user",
                                           .content = argv[2],
                                           .content_len = QUIRE_NUL_TERMINATED };
    struct quire_request_params rp;
    quire_request_id id;
    quire_request_params_init(&rp, sizeof rp);
    rp.messages = &question;
    rp.n_messages = 1;
    rp.max_tokens = 200;
    rp.has_grammar = true; /* a wrong schema is refused by submit, with its place */
    rp.grammar_kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    rp.grammar_text = argv[3];
    rp.grammar_text_size = QUIRE_NUL_TERMINATED;
    quire_status s = quire_engine_submit(engine, &rp, &id, &err);
    enum quire_finish_reason reason = QUIRE_FINISH_ERROR;
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    while (s == QUIRE_OK && quire_engine_active_count(engine)) {
        s = quire_engine_step(engine, &err);
        while (quire_engine_poll(engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
            if (ev.kind == QUIRE_EVENT_TEXT)
                fwrite(ev.text, 1, ev.text_size, stdout);
            if (ev.kind == QUIRE_EVENT_DONE)
                reason = ev.reason;
        }
    }
    putchar('\n');
    if (s != QUIRE_OK)
        fprintf(stderr, "%s\n", err.msg);
    else if (reason != QUIRE_FINISH_STOP) /* e.g. max_tokens: the JSON is not complete */
        fprintf(stderr, "unfinished: %s\n", quire_finish_reason_name(reason));
    quire_engine_close(engine);
    return s != QUIRE_OK || reason != QUIRE_FINISH_STOP;
}
