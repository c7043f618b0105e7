/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - embeddings and scores of texts in the place of a conversation: --embed, --rerank. */
#include "vectors.h"
#include "exit_code.h"
#include "interrupt.h"
#include "line_source.h"
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* A text whose vector is being computed. */
struct item {
    quire_request_id id;
    uint64_t line; /* from 1; 0: not one of several */
    float *values;
    size_t n_values;
    uint32_t n_tokens;
    bool done;
    quire_status status;
    char message[488];
};

struct vectors {
    struct session *session;
    struct item items[VECTORS_AT_A_TIME]; /* a ring: item i is items[i % VECTORS_AT_A_TIME] */
    uint64_t n_printed, n_submitted;
};

bool vectors_wanted(const struct options *o) { return o->embed || o->rerank; }

bool vectors_supported(const struct session *s, struct quire_error *err)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    if (!s->options->rerank ||
        quire_model_get_info(quire_engine_model(s->engine), &info) != QUIRE_OK ||
        info.n_labels == 1)
        return true;
    snprintf(err->msg, sizeof err->msg,
             "--rerank: the model gives %u scores for a text, a reranker gives one", info.n_labels);
    return false;
}

/* ---- Output */

static void print_values(struct text *out, const struct item *item, const char *separator)
{
    for (size_t i = 0; i < item->n_values; i++)
        text_addf(out, "%s%.9g", i ? separator : "", (double)item->values[i]);
}

/* Returns an exit code. */
static int print_item(const struct vectors *v, uint64_t index)
{
    const struct session *s = v->session;
    const struct item *item = &v->items[index % VECTORS_AT_A_TIME];
    const bool list = !s->options->rerank;
    struct text out = { 0 };
    if (s->options->json) {
        text_addf(&out, "{\"event\":\"%s\",\"index\":%llu,\"prompt_tokens\":%u,\"%s\":%s",
                  list ? "embedding" : "score", (unsigned long long)index, item->n_tokens,
                  list ? "embedding" : "score", list ? "[" : "");
        print_values(&out, item, ",");
        text_addf(&out, "%s}\n", list ? "]" : "");
    } else {
        print_values(&out, item, " ");
        text_addf(&out, "\n");
    }
    const bool failed = out.failed;
    if (failed)
        print_message("out of memory");
    else
        output_print(s->out, out.data);
    text_free(&out);
    return failed ? EX_TEMPFAIL : s->out->error ? EX_IOERR : 0;
}

static int fail(const struct vectors *v, uint64_t line, quire_status status, const char *message)
{
    const struct quire_error none = QUIRE_ERROR_INIT;
    struct text text = { 0 };
    if (line)
        text_addf(&text, "line %llu: ", (unsigned long long)line);
    options_add_message(&text, message);
    output_error(v->session->out, status, text.failed ? message : text.data);
    text_free(&text);
    /* a line is data, other texts are arguments */
    return line && status == QUIRE_E_INVALID_ARG ? EX_DATAERR
                                                 : exit_code_of_status(status, &none, false);
}

/* ---- Requests */

static void end_item(struct item *item, quire_status status, const char *message)
{
    item->done = true;
    item->status = status;
    snprintf(item->message, sizeof item->message, "%s", message);
}

/* A text that is refused is reported in its place. */
static void submit(struct vectors *v, uint64_t line, const char *text, size_t size)
{
    const struct options *o = v->session->options;
    struct item *item = &v->items[v->n_submitted++ % VECTORS_AT_A_TIME];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_request_params p;
    *item = (struct item){ .line = line };
    quire_request_params_init(&p, sizeof p);
    p.text = text;
    p.text_size = size;
    p.user = item;
    p.task = o->rerank ? QUIRE_TASK_SCORE : QUIRE_TASK_EMBED;
    if (o->rerank) {
        p.text = o->rerank;
        p.text_size = strlen(o->rerank);
        p.text_pair = text;
        p.text_pair_size = size;
    } else {
        p.pooling = o->pooling;
        p.dimensions = o->dimensions;
        p.normalize = !o->no_normalize;
    }
    const quire_status status =
        size ? quire_engine_submit(v->session->engine, &p, &item->id, &err) : QUIRE_E_INVALID_ARG;
    if (status != QUIRE_OK)
        end_item(item, status, size ? err.msg : "the text is empty");
}

/* Keeps what an event says about its text. */
static void take_event(const struct quire_event *ev)
{
    struct item *item = ev->user;
    if (ev->kind == QUIRE_EVENT_VECTOR) {
        item->values = calloc(ev->n_values, sizeof *item->values);
        item->n_values = item->values ? ev->n_values : 0;
        for (size_t i = 0; i < item->n_values; i++)
            item->values[i] = ev->values[i];
    }
    if (ev->kind != QUIRE_EVENT_DONE)
        return;
    item->n_tokens = ev->usage->prompt_tokens;
    end_item(item, ev->status, ev->message);
    if (ev->status == QUIRE_OK && !item->n_values)
        end_item(item, QUIRE_E_NOMEM, "out of memory");
}

/* Runs a step and prints the texts that are complete, in their order. Returns an exit code. */
static int run_step(struct vectors *v)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_event ev = { .struct_size = sizeof ev };
    const quire_status status = quire_engine_step(v->session->engine, &err);
    if (status != QUIRE_OK)
        return fail(v, 0, status, err.msg);
    while (quire_engine_poll(v->session->engine, &ev, NULL) == QUIRE_OK &&
           ev.kind != QUIRE_EVENT_NONE)
        take_event(&ev);
    for (; v->n_printed < v->n_submitted; v->n_printed++) {
        struct item *item = &v->items[v->n_printed % VECTORS_AT_A_TIME];
        if (!item->done)
            return interrupts_count() ? EXIT_INTERRUPTED : 0;
        if (item->status != QUIRE_OK)
            return fail(v, item->line, item->status, item->message);
        const int code = print_item(v, v->n_printed);
        free(item->values);
        item->values = NULL;
        if (code)
            return code;
    }
    return 0;
}

static void end(struct vectors *v)
{
    for (; v->n_printed < v->n_submitted; v->n_printed++) {
        struct item *item = &v->items[v->n_printed % VECTORS_AT_A_TIME];
        if (!item->done)
            (void)quire_request_cancel(v->session->engine, item->id);
        free(item->values);
    }
}

int vectors_of_text(struct session *s, const char *text, size_t size)
{
    struct vectors v = { .session = s };
    int code = 0;
    submit(&v, 0, text, size);
    while (code == 0 && v.n_printed < v.n_submitted)
        code = run_step(&v);
    end(&v);
    return code;
}

/* Submits lines as long as there is room, and they can be read without waiting or there is nothing
 * else to do. Returns an exit code; *ended: there are no more. */
static int submit_lines(struct vectors *v, struct line_source *lines, bool *ended)
{
    while (v->n_submitted - v->n_printed < VECTORS_AT_A_TIME) {
        const char *line;
        size_t size;
        switch (line_source_next(lines, v->n_submitted == v->n_printed, &line, &size)) {
        case LINE_NOT_READY:
            return 0;
        case LINE_END:
            *ended = true;
            return 0;
        case LINE_INTERRUPTED:
            return EXIT_INTERRUPTED;
        case LINE_TOO_LONG:
            print_message("a line of standard input exceeds the maximum of 16 MiB");
            return EX_DATAERR;
        case LINE_FAILED:
            print_message("cannot read standard input");
            return EX_IOERR;
        case LINE_READY:
            break;
        }
        submit(v, v->n_submitted + 1, line, size);
    }
    return 0;
}

int vectors_of_lines(struct session *s)
{
    struct vectors v = { .session = s };
    struct line_source lines = { 0 };
    bool ended = false;
    int code = 0;
    while (code == 0) {
        if (!ended)
            code = submit_lines(&v, &lines, &ended);
        if (code || v.n_printed == v.n_submitted)
            break;
        code = run_step(&v);
    }
    end(&v);
    line_source_close(&lines);
    return code;
}
