/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - standard output: answers as text or JSON events. */
#include "output.h"
#include "terminal.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void output_open(struct output *o, bool json, bool wraps)
{
    *o = (struct output){ .json = json,
                          .terminal = isatty(1),
                          .wraps = wraps && !json && terminal_shows(1) };
}

void output_close(struct output *o)
{
    wrap_clear(&o->wrap);
    text_free(&o->answer);
    text_free(&o->work);
}

/* Writes at once: the reader waits for every token. */
static void send(struct output *o, const char *data, size_t size)
{
    while (size && !o->error) {
        const ssize_t n = write(1, data, size);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = 1, .events = POLLOUT }, 1, -1);
        else if (n < 0 && errno != EINTR)
            o->error = errno;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static void send_work(struct output *o)
{
    if (o->work.failed)
        o->error = ENOMEM;
    else
        send(o, o->work.data, o->work.size);
}

void output_begin(struct output *o)
{
    text_clear(&o->answer);
    wrap_clear(&o->wrap);
}

/* An answer for a terminal, whose width may have changed since the last piece. */
static void add_shown(struct output *o, const char *text, size_t size)
{
    enum { NARROW = 20 };
    const unsigned width = o->wraps ? terminal_width(1) : 0;
    if (width < NARROW) {
        text_add_escaped(&o->work, text, size);
        return;
    }
    struct text safe = { 0 };
    text_add_escaped(&safe, text, size);
    if (safe.failed)
        o->work.failed = true;
    else
        wrap_add(&o->wrap, safe.data, safe.size, width, &o->work);
    text_free(&safe);
}

void output_piece(struct output *o, const char *text, size_t size)
{
    if (!size)
        return;
    text_add(&o->answer, text, size);
    text_clear(&o->work);
    if (o->json) {
        text_addf(&o->work, "{\"event\":\"token\",\"text\":");
        text_add_json(&o->work, text, size);
        text_addf(&o->work, "}\n");
    } else if (o->terminal) {
        add_shown(o, text, size);
    } else {
        text_add(&o->work, text, size);
    }
    send_work(o);
}

double tokens_per_second(const struct quire_usage *u)
{
    /* the first token is the prompt's work */
    if (u->completion_tokens < 2 || u->generate_seconds <= 0)
        return 0;
    return (u->completion_tokens - 1) / u->generate_seconds;
}

void output_done(struct output *o, const struct quire_event *done, uint64_t seed)
{
    const struct quire_usage *u = done->usage;
    text_clear(&o->work);
    if (!o->json) {
        text_add(&o->work, "\n", 1);
        send_work(o);
        return;
    }
    text_addf(&o->work, "{\"event\":\"done\",\"reason\":\"%s\",\"text\":",
              quire_finish_reason_name(done->reason));
    text_add_json(&o->work, o->answer.data ? o->answer.data : "", o->answer.size);
    text_addf(&o->work, ",\"prompt_tokens\":%u,\"cached_tokens\":%u,\"completion_tokens\":%u",
              u->prompt_tokens, u->cached_tokens, u->completion_tokens);
    text_addf(&o->work,
              ",\"prompt_seconds\":%.6f,\"generate_seconds\":%.6f,\"tokens_per_second\":%.3f",
              u->prompt_seconds, u->generate_seconds, tokens_per_second(u));
    text_addf(&o->work, ",\"context_full\":%s,\"seed\":%llu}\n",
              done->context_full ? "true" : "false", (unsigned long long)seed);
    send_work(o);
}

void output_error(struct output *o, quire_status status, const char *message)
{
    clear_progress();
    complain("%s", message);
    if (!o->json)
        return;
    text_clear(&o->work);
    text_addf(&o->work,
              "{\"event\":\"error\",\"code\":\"%s\",\"message\":", quire_status_name(status));
    text_add_json(&o->work, message, strlen(message));
    text_addf(&o->work, "}\n");
    send_work(o);
}

void output_print(struct output *o, const char *text) { send(o, text, strlen(text)); }
