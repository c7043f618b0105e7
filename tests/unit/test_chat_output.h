/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output.h - runs a parser of model output over a text in pieces and joins the deltas. */
#ifndef TEST_CHAT_OUTPUT_H
#define TEST_CHAT_OUTPUT_H
#include <quire/chat_output.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOINED_CALLS = 256 };

struct joined_text {
    char *text;
    size_t size;
};

static inline void joined_add(struct joined_text *t, const char *text, size_t size)
{
    t->text = realloc(t->text, t->size + size + 1);
    if (size) /* text may be NULL */
        memcpy(t->text + t->size, text, size);
    t->size += size;
    t->text[t->size] = 0;
}

/* What the deltas of an answer add up to. */
struct joined {
    struct joined_text content, reasoning;
    struct {
        struct joined_text name, id, arguments;
        bool ended;
    } calls[JOINED_CALLS];
    uint32_t n_calls;
    bool disorder; /* a delta out of order */
};

static inline void joined_init(struct joined *j)
{
    memset(j, 0, sizeof *j);
    joined_add(&j->content, "", 0);
    joined_add(&j->reasoning, "", 0);
}

static inline void joined_free(struct joined *j)
{
    free(j->content.text);
    free(j->reasoning.text);
    for (uint32_t i = 0; i < j->n_calls; i++) {
        free(j->calls[i].name.text);
        free(j->calls[i].id.text);
        free(j->calls[i].arguments.text);
    }
}

static inline void joined_take(struct joined *j, struct quire_chat_output *o)
{
    struct quire_chat_delta d;
    while (quire_chat_output_next(o, &d)) {
        const uint32_t i = d.tool_index;
        if (d.kind == QUIRE_CHAT_CONTENT)
            joined_add(&j->content, d.text, d.size);
        else if (d.kind == QUIRE_CHAT_REASONING)
            joined_add(&j->reasoning, d.text, d.size);
        else if (d.kind == QUIRE_CHAT_TOOL_CALL_BEGIN) {
            j->disorder = j->disorder || i != j->n_calls || i >= JOINED_CALLS ||
                          (i > 0 && !j->calls[i - 1].ended);
            if (j->disorder)
                return;
            j->n_calls++;
            joined_add(&j->calls[i].name, d.text, d.size);
            joined_add(&j->calls[i].id, d.id, d.id_size);
            joined_add(&j->calls[i].arguments, "", 0);
        } else {
            j->disorder = j->disorder || i + 1 != j->n_calls || j->calls[i].ended;
            if (j->disorder)
                return;
            if (d.kind == QUIRE_CHAT_TOOL_CALL_END)
                j->calls[i].ended = true;
            else
                joined_add(&j->calls[i].arguments, d.text, d.size);
        }
    }
}

static inline bool joined_same_text(const struct joined_text *a, const struct joined_text *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static inline bool joined_same(const struct joined *a, const struct joined *b)
{
    bool same = !a->disorder && !b->disorder && a->n_calls == b->n_calls &&
                joined_same_text(&a->content, &b->content) &&
                joined_same_text(&a->reasoning, &b->reasoning);
    for (uint32_t i = 0; same && i < a->n_calls; i++)
        same = joined_same_text(&a->calls[i].name, &b->calls[i].name) &&
               joined_same_text(&a->calls[i].id, &b->calls[i].id) &&
               joined_same_text(&a->calls[i].arguments, &b->calls[i].arguments) &&
               a->calls[i].ended == b->calls[i].ended;
    return same;
}

/* Pieces of a text: cuts at first and second (0: none), or random pieces of up to `longest`. */
struct pieces {
    size_t first;
    unsigned longest, seed;
    bool unfinished; /* without quire_chat_output_finish */
};

static inline quire_status joined_run(struct joined *j,
                                      const struct quire_chat_output_params *params,
                                      const char *text, size_t size, struct pieces p,
                                      struct quire_error *err)
{
    struct quire_chat_output *o;
    unsigned random = p.seed;
    joined_init(j);
    quire_status status = quire_chat_output_create(params, &o, err);
    for (size_t i = 0; i < size && status == QUIRE_OK;) {
        size_t n = i < p.first ? p.first - i : size - i;
        random = random * 1664525u + 1013904223u;
        if (p.longest)
            n = 1 + (random >> 16) % p.longest;
        n = n > size - i ? size - i : n;
        status = quire_chat_output_push(o, text + i, n, false, err);
        joined_take(j, o);
        i += n;
    }
    if (status == QUIRE_OK && !p.unfinished)
        status = quire_chat_output_finish(o, err);
    if (o)
        joined_take(j, o);
    quire_chat_output_destroy(o);
    return status;
}

/* Whether every cut and random pieces give the same as the whole text, in `whole`. Prints the cut
 * that differs. */
static inline bool joined_all_cuts(const struct joined *whole,
                                   const struct quire_chat_output_params *params, const char *text,
                                   size_t size, bool unfinished)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i <= size + 8; i++) {
        struct joined j;
        struct pieces p = { .unfinished = unfinished };
        if (i <= size)
            p.first = i;
        else {
            p.longest = (unsigned)(2 * (i - size) - 1);
            p.seed = (unsigned)i;
        }
        const quire_status status = joined_run(&j, params, text, size, p, &err);
        const bool same = status == QUIRE_OK && joined_same(&j, whole);
        if (!same)
            fprintf(stderr, "cut at %zu, pieces up to %u: %s\n  content %s\n  reasoning %s\n",
                    p.first, p.longest, err.msg, j.content.text, j.reasoning.text);
        joined_free(&j);
        if (!same)
            return false;
    }
    return true;
}

#endif
