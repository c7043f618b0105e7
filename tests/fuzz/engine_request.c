/* SPDX-License-Identifier: Apache-2.0 */
/* engine_request.c - a request drawn from bytes, and checks of its events. */
#include "engine_request.h"
#include "base/utf8.h"
#include <math.h>
#include <string.h>

/* ---- Events */

void engine_request_take(struct engine_request *r, const struct quire_event *ev)
{
    fuzz_check(!r->done, "an event after DONE");
    fuzz_check(ev->text && ev->message && ev->usage, "a NULL pointer in an event");
    fuzz_check(qr_utf8_valid((const uint8_t *)ev->text, ev->text_size), "ill-formed text");
    fuzz_check(r->n_tokens + ev->n_tokens <= CONTEXT + 1, "too many tokens");
    fuzz_check(!ev->n_logprobs == !ev->logprobs, "%u log-probabilities", ev->n_logprobs);
    if (ev->n_tokens)
        memcpy(r->tokens + r->n_tokens, ev->tokens, ev->n_tokens * sizeof *ev->tokens);
    for (size_t i = 0; i < ev->n_tokens && ev->logprobs; i++)
        r->logprobs[r->n_tokens + i] = ev->logprobs[i * ev->n_logprobs].logprob;
    r->n_tokens += ev->n_tokens;
    fuzz_check(ev->text_size <= MAX_OUTPUT - r->output_size, "too much text");
    if (ev->text_size)
        memcpy(r->output + r->output_size, ev->text, ev->text_size);
    r->output_size += ev->text_size;
    const size_t echoed =
        r->params.flags & QUIRE_REQUEST_ECHO ? (size_t)ev->usage->prompt_tokens : 0;
    fuzz_check(ev->usage->completion_tokens + echoed >= r->n_tokens || ev->kind != QUIRE_EVENT_DONE,
               "usage has %u tokens, events %zu", ev->usage->completion_tokens, r->n_tokens);
    fuzz_check((ev->kind == QUIRE_EVENT_VECTOR) == (ev->values != NULL), "values of another event");
    if (ev->kind == QUIRE_EVENT_VECTOR) {
        fuzz_check(r->n_values == 0 && ev->n_values <= MAX_VALUES, "%zu values", ev->n_values);
        r->n_values = ev->n_values;
        memcpy(r->values, ev->values, ev->n_values * sizeof *ev->values);
    }
    if (ev->kind == QUIRE_EVENT_DONE) {
        r->done = true;
        fuzz_check(r->cancelled || ev->usage->prompt_tokens == r->n_prompt,
                   "%u tokens, %zu were counted", ev->usage->prompt_tokens, r->n_prompt);
        r->reason = ev->reason;
        r->context_full = ev->context_full;
        fuzz_check(ev->reason == QUIRE_FINISH_STOP || ev->reason == QUIRE_FINISH_LENGTH ||
                       (ev->reason == QUIRE_FINISH_CANCELLED && r->cancelled),
                   "request ends with %s: %s", quire_finish_reason_name(ev->reason), ev->message);
    }
}

static quire_status deliver(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    struct engine_request *r = user;
    fuzz_check(ev->id == r->id, "an event of another request");
    fuzz_check(quire_engine_step(e, NULL) == QUIRE_E_MISUSE, "a callback runs a step");
    engine_request_take(r, ev);
    if (r->events_left == 0 || --r->events_left)
        return QUIRE_OK;
    r->cancelled = true;
    return QUIRE_E_CANCELLED;
}

/* ---- Parameters */

/* Rows of few different values, so that requests share some. */
static void draw_rows(struct engine_request *r, struct quire_prompt_part *part, size_t at, size_t n,
                      struct fuzz_input *in)
{
    for (size_t i = at; i < at + n; i++)
        for (size_t k = 0; k < HIDDEN; k++)
            r->rows[i][k] = (float)((uint8_t)r->text[i] % 5 * (k + 1) % 7) - 3;
    if (n && fuzz_chance(in, 5))
        r->rows[at][HIDDEN - 1] = (float)INFINITY;
    part->embeddings = r->rows[at];
    part->n_rows = n;
    part->hidden_size = fuzz_chance(in, 5) ? HIDDEN + 1 : HIDDEN;
}

static void draw_parts(struct engine_request *r, size_t n, struct fuzz_input *in)
{
    struct quire_request_params *p = &r->params;
    p->parts = r->parts;
    p->n_parts = fuzz_below(in, MAX_PARTS) + 1;
    for (size_t i = 0, at = 0; i < p->n_parts; i++) {
        struct quire_prompt_part *part = &r->parts[i];
        const size_t left = n - at,
                     size = i + 1 == p->n_parts ? left : fuzz_below(in, (uint32_t)left + 1);
        switch (fuzz_below(in, 3)) {
        case 0:
            part->text = r->text + at;
            part->text_size = size;
            part->text_flags = fuzz_below(in, 8);
            break;
        case 1:
            for (size_t k = at; k < at + size; k++)
                r->prompt[k] = (uint8_t)r->text[k];
            part->tokens = r->prompt + at;
            part->n_tokens = size;
            break;
        default:
            draw_rows(r, part, at, size, in);
        }
        at += size;
    }
}

static void draw_prompt(struct engine_request *r, struct fuzz_input *in)
{
    static const char *const prefixes[] = { "", "Once upon a time there", "<|im_start|>" };
    struct quire_request_params *p = &r->params;
    size_t n = fuzz_below(in, MAX_TEXT - 24);
    const char *prefix = FUZZ_PICK(in, prefixes);
    const size_t n_prefix = strlen(prefix);
    memcpy(r->text, prefix, n_prefix);
    const uint8_t *bytes = fuzz_take_bytes(in, &n);
    if (n)
        memcpy(r->text + n_prefix, bytes, n);
    n += n_prefix;
    switch (fuzz_below(in, 4)) {
    case 0:
        p->text = r->text;
        p->text_size = n;
        p->text_flags = fuzz_below(in, 8);
        break;
    case 1:
        for (size_t i = 0; i < n; i++)
            r->prompt[i] = (uint8_t)r->text[i];
        if (n && fuzz_chance(in, 5))
            r->prompt[n - 1] = (int32_t)fuzz_take(in, 4);
        p->tokens = r->prompt;
        p->n_tokens = n;
        break;
    case 2:
        draw_parts(r, n, in);
        break;
    default:
        r->messages[0] = (struct quire_chat_message){ .role = "user",
                                                      .content = r->text,
                                                      .content_len = n ? n : 0 };
        r->messages[1] = (struct quire_chat_message){ .role = "assistant", .content = "No." };
        p->messages = r->messages;
        p->n_messages = 1 + fuzz_below(in, 2);
    }
}

/* Beam search, mostly without what contradicts it. */
static void draw_search(struct quire_request_params *p, struct fuzz_input *in)
{
    static const double penalties[] = { 1, 0, 2, -1, (double)NAN };
    p->beam_width = fuzz_below(in, 6);
    p->early_stopping = (enum quire_beam_stopping)fuzz_below(in, 4);
    p->length_penalty = FUZZ_PICK(in, penalties);
    if (!fuzz_chance(in, 5))
        p->draft_tokens = p->best_of = 0;
}

/* Scheduling and drafts, which change no token, and limits of the answer. */
static void draw_options(struct engine_request *r, struct fuzz_input *in)
{
    struct quire_request_params *p = &r->params;
    const uint32_t draws = (uint32_t)fuzz_take(in, 2);
    p->priority = (int32_t)(draws % 3);
    p->client = draws / 3 % 3;
    p->cache_salt = draws / 9 % 2;
    p->draft_tokens = draws / 18 % 6;
    p->best_of = draws / 108 % 4;
    if (fuzz_chance(in, 30)) {
        p->event_callback = deliver;
        p->event_user = r;
        r->events_left = fuzz_below(in, 12);
    }
    if (draws / 432 % 2)
        p->flags |= QUIRE_REQUEST_FIXED_DRAFT;
    if (fuzz_chance(in, 20))
        p->min_tokens = fuzz_below(in, MAX_NEW + 2);
    if (fuzz_chance(in, 20))
        p->n_logprobs = fuzz_below(in, 22);
    if (p->flags & QUIRE_REQUEST_PROMPT_ONLY && !fuzz_chance(in, 5))
        p->max_tokens = p->min_tokens = p->draft_tokens = p->best_of = 0;
    if (fuzz_chance(in, 25))
        draw_search(p, in);
    if (fuzz_chance(in, 20)) {
        r->stop_token = (int32_t)fuzz_below(in, 300);
        p->stop_tokens = &r->stop_token;
        p->n_stop_tokens = 1;
    }
}

/* A vector instead of text; most often without the fields of generation. */
static void draw_vector(struct engine_request *r, struct fuzz_input *in)
{
    struct quire_request_params *p = &r->params;
    const struct quire_request_params drawn = *p;
    if (!fuzz_chance(in, 10)) {
        quire_request_params_init(p, sizeof *p);
        p->messages = drawn.messages;
        p->n_messages = drawn.n_messages;
        p->text = drawn.text;
        p->text_size = drawn.text_size;
        p->text_flags = drawn.text_flags;
        p->tokens = drawn.tokens;
        p->n_tokens = drawn.n_tokens;
        p->flags = drawn.flags & QUIRE_REQUEST_NO_REUSE;
        p->priority = drawn.priority;
        p->client = drawn.client;
        p->cache_salt = drawn.cache_salt;
        p->event_callback = drawn.event_callback;
        p->event_user = drawn.event_user;
    }
    p->task = fuzz_chance(in, 90) ? QUIRE_TASK_EMBED : (enum quire_task)fuzz_below(in, 5);
    p->pooling = (enum quire_pooling)fuzz_below(in, QUIRE_POOLING_DEFAULT + 2);
    p->dimensions = fuzz_chance(in, 50) ? fuzz_below(in, MAX_VALUES + 2) : 0;
    p->normalize = fuzz_chance(in, 50);
    p->raw_scores = fuzz_chance(in, 5);
    p->token_type_ids = fuzz_chance(in, 10) ? r->prompt : NULL;
    if (fuzz_chance(in, 5)) {
        p->text_pair = r->text;
        p->text_pair_size = fuzz_below(in, 4);
    }
}

void engine_request_draw(struct engine_request *r, bool encoder, struct fuzz_input *in)
{
    memset(r, 0, sizeof *r);
    quire_request_params_init(&r->params, sizeof r->params);
    draw_prompt(r, in);
    r->params.max_tokens = fuzz_below(in, MAX_NEW) + 1;
    r->params.flags = fuzz_below(in, 128);
    r->params.stream = fuzz_below(in, 3);
    quire_sampling_params_init(&r->sampling, sizeof r->sampling);
    r->sampling.temperature = (float)fuzz_below(in, 4) / 2;
    r->sampling.repetition_penalty = 1 + (float)fuzz_below(in, 3);
    r->params.sampling = &r->sampling;
    if (fuzz_chance(in, 30)) {
        r->stop[0] = (char)('a' + fuzz_below(in, 26));
        r->stops[0] = r->stop;
        r->params.stop = r->stops;
        r->params.n_stop = 1;
    }
    draw_options(r, in);
    if (fuzz_chance(in, encoder ? 90 : 25))
        draw_vector(r, in);
}
