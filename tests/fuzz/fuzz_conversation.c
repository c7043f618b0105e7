/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_conversation.c - conversation files of the chat program.
 *
 * Checks that a rejected file changes nothing and gives one message, and that what is loaded is
 * valid and comes back from a saved file. */
#include "base/utf8.h"
#include "conversation_file.h"
#include "fuzz.h"
#include "json_mutator.h"
#include "terminal.h"
#include <string.h>
#include <unistd.h>

static unsigned n_messages;

/* Replaces the function of terminal.c, which prints. */
void print_message(const char *format, ...)
{
    fuzz_check(*format, "an empty message");
    n_messages++;
}

static struct settings default_settings(void)
{
    struct settings s = { .max_tokens = -1 };
    quire_sampling_params_init(&s.sampling, sizeof s.sampling);
    return s;
}

static void check_valid(const struct conversation *c, const struct settings *s)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < c->n; i++) {
        const char *role = c->messages[i].role, *content = c->messages[i].content;
        fuzz_check(role && *role && qr_utf8_valid((const uint8_t *)role, strlen(role)), "role %zu",
                   i);
        fuzz_check(content && qr_utf8_valid((const uint8_t *)content, strlen(content)),
                   "content %zu", i);
    }
    const quire_status got = quire_sampling_validate(&s->sampling, 1, &err);
    fuzz_check(got == QUIRE_OK, "%s", err.msg);
    fuzz_check(s->max_tokens >= -1 && s->n_stop <= MAX_STOPS, "max_tokens %d, %u stops",
               s->max_tokens, s->n_stop);
    for (uint32_t i = 0; i < s->n_stop; i++)
        fuzz_check(s->stop[i] && *s->stop[i], "stop %u is empty", i);
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static void check_same(const struct conversation *a, const struct settings *s,
                       const struct conversation *b, const struct settings *t)
{
    fuzz_check(a->n == b->n, "%zu messages, then %zu", a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        fuzz_check(strcmp(a->messages[i].role, b->messages[i].role) == 0 &&
                       strcmp(a->messages[i].content, b->messages[i].content) == 0 &&
                       same_text(a->messages[i].members, b->messages[i].members),
                   "message %zu changed", i);
    fuzz_check(s->sampling.temperature == t->sampling.temperature &&
                   s->sampling.top_p == t->sampling.top_p &&
                   s->sampling.min_p == t->sampling.min_p &&
                   s->sampling.repetition_penalty == t->sampling.repetition_penalty &&
                   s->sampling.presence_penalty == t->sampling.presence_penalty &&
                   s->sampling.frequency_penalty == t->sampling.frequency_penalty &&
                   s->sampling.top_k == t->sampling.top_k &&
                   s->sampling.penalty_last_n == t->sampling.penalty_last_n &&
                   s->sampling.seed == t->sampling.seed && s->max_tokens == t->max_tokens,
               "settings changed");
    fuzz_check(s->n_stop == t->n_stop, "%u stops, then %u", s->n_stop, t->n_stop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("conversation.json"), *again = fuzz_path("again.json");
    struct conversation c = { 0 }, d = { 0 };
    struct settings s = default_settings(), t = default_settings();
    fuzz_write_file(path, data, size);
    n_messages = 0;
    fuzz_check(conversation_add(&c, "user", "before", 6), "no memory");
    if (conversation_load(path, &c, &s) == 0) {
        fuzz_check(n_messages == 0, "%u messages after success", n_messages);
        check_valid(&c, &s);
        fuzz_check(conversation_save(again, &c, &s, "model"), "cannot save what was loaded");
        fuzz_check(conversation_load(again, &d, &t) == 0, "cannot load what was saved");
        check_same(&c, &s, &d, &t);
        unlink(again);
    } else {
        fuzz_check(n_messages == 1, "%u messages after a failure", n_messages);
        fuzz_check(c.n == 1 && strcmp(c.messages[0].content, "before") == 0 && s.n_stop == 0,
                   "a failure changed the conversation");
    }
    conversation_free(&c);
    conversation_free(&d);
    settings_free(&s);
    settings_free(&t);
    unlink(path);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return json_mutate(data, size, max_size, seed);
}
