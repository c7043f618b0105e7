/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_chat_output.c - parsers of model output: format, settings and cuts from the first bytes, the
 * rest is the text of an answer.
 *
 * Checks that the deltas of a text in pieces concatenate to the message of the whole text, that
 * calls begin and end once, and that finish leaves nothing open. */
#include "fuzz.h"
#include <quire/chat_output.h>
#include <stdlib.h>
#include <string.h>

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":[\"string\",\"null\"]},"
    "\"i\":{\"type\":\"integer\"},\"l\":{\"type\":\"array\"},\"o\":{\"type\":\"object\"}}}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"python\"}},{\"name\":\"get_weather\"}]";

static void put_text(struct fuzz_buffer *to, const char *text, size_t size)
{
    fuzz_put_number(to, size, 4);
    fuzz_put(to, text, size);
}

/* The message as bytes that can be compared. */
static void put_message(struct quire_chat_output *o, struct fuzz_buffer *to)
{
    struct quire_chat_output_message m = { .struct_size = sizeof m };
    fuzz_check(quire_chat_output_get_message(o, &m, NULL) == QUIRE_OK, "message");
    put_text(to, m.content, m.content_size);
    put_text(to, m.reasoning, m.reasoning_size);
    for (uint32_t i = 0; i < m.n_tool_calls; i++) {
        const struct quire_chat_tool_call *const c = &m.tool_calls[i];
        put_text(to, c->name, strlen(c->name));
        put_text(to, c->id, strlen(c->id));
        put_text(to, c->arguments, c->arguments_size);
    }
}

/* The deltas, joined. */
struct joined {
    struct fuzz_buffer content, reasoning, calls, arguments;
    uint32_t n_calls;
    bool open;
};

static void take(struct quire_chat_output *o, struct joined *j)
{
    struct quire_chat_delta d;
    while (quire_chat_output_next(o, &d)) {
        switch (d.kind) {
        case QUIRE_CHAT_CONTENT:
            fuzz_put(&j->content, d.text, d.size);
            break;
        case QUIRE_CHAT_REASONING:
            fuzz_put(&j->reasoning, d.text, d.size);
            break;
        case QUIRE_CHAT_TOOL_CALL_BEGIN:
            fuzz_check(!j->open && d.tool_index == j->n_calls, "call %u begins", d.tool_index);
            j->open = true;
            j->arguments.size = 0;
            put_text(&j->calls, d.text, d.size);
            put_text(&j->calls, d.id, d.id_size);
            break;
        case QUIRE_CHAT_TOOL_CALL_ARGUMENTS:
            fuzz_check(j->open && d.tool_index == j->n_calls, "arguments of %u", d.tool_index);
            fuzz_put(&j->arguments, d.text, d.size);
            break;
        default:
            fuzz_check(j->open && d.tool_index == j->n_calls, "call %u ends", d.tool_index);
            j->open = false;
            j->n_calls++;
            put_text(&j->calls, (const char *)j->arguments.data, j->arguments.size);
        }
    }
}

static void put_joined(struct joined *j, struct fuzz_buffer *to)
{
    fuzz_check(!j->open, "a call is open");
    put_text(to, (const char *)j->content.data, j->content.size);
    put_text(to, (const char *)j->reasoning.data, j->reasoning.size);
    fuzz_put(to, j->calls.data, j->calls.size);
    fuzz_buffer_free(&j->content);
    fuzz_buffer_free(&j->reasoning);
    fuzz_buffer_free(&j->calls);
    fuzz_buffer_free(&j->arguments);
}

static struct quire_chat_output *create(const uint8_t *head, struct fuzz_memory *memory)
{
    struct quire_chat_output_params p;
    struct quire_chat_output *o = NULL;
    size_t n = 0;
    while (quire_chat_output_format_name(n))
        n++;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = quire_chat_output_format_name(head[0] % n);
    p.allocator = &memory->hooks;
    p.tools_json = head[1] & 1 ? tools : NULL;
    p.reasoning = head[1] & 2 ? QUIRE_REASONING_NONE : QUIRE_REASONING_AUTO;
    p.thinking = head[1] & 4 ? QUIRE_THINKING_OPEN : QUIRE_THINKING_CLOSED;
    p.single_call = head[1] & 8;
    p.tool_choice = head[1] & 16 ? QUIRE_TOOL_CHOICE_NONE : QUIRE_TOOL_CHOICE_AUTO;
    fuzz_check(quire_chat_output_create(&p, &o, NULL) == QUIRE_OK, "create");
    return o;
}

/* Pieces of 1 to `longest` bytes; longest 0: the whole. Bit 5 of head[1]: markers between < and >
 * are control tokens. */
static void parse(const uint8_t *head, const char *text, size_t size, unsigned longest,
                  struct fuzz_buffer *message, struct fuzz_buffer *deltas)
{
    struct fuzz_memory memory;
    struct joined j = { 0 };
    struct fuzz_random random = { head[2] + 1u };
    fuzz_memory_init(&memory, (64u << 20) + 64 * size);
    struct quire_chat_output *const o = create(head, &memory);
    for (size_t i = 0; i < size;) {
        const bool special = head[1] & 32 && text[i] == '<';
        const char *const end = memchr(text + i, special ? '>' : '<', size - i);
        const size_t left = end && head[1] & 32 ? (size_t)(end - text) - i + special : size - i;
        size_t n = longest && !special ? 1 + fuzz_random(&random, longest) : left;
        n = n > left ? left : n;
        fuzz_check(quire_chat_output_push(o, text + i, n, special, NULL) == QUIRE_OK, "push");
        take(o, &j);
        i += n;
    }
    fuzz_check(quire_chat_output_finish(o, NULL) == QUIRE_OK, "finish");
    take(o, &j);
    put_joined(&j, deltas);
    put_message(o, message);
    quire_chat_output_destroy(o);
    fuzz_memory_done(&memory);
}

static bool same(const struct fuzz_buffer *a, const struct fuzz_buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned longest[] = { 1, 2, 5, 17 };
    struct fuzz_buffer whole = { 0 }, whole_deltas = { 0 };
    if (size < 3)
        return 0;
    const char *const text = (const char *)data + 3;
    parse(data, text, size - 3, 0, &whole, &whole_deltas);
    fuzz_check(same(&whole, &whole_deltas), "deltas of the whole text");
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        struct fuzz_buffer message = { 0 }, deltas = { 0 };
        parse(data, text, size - 3, longest[i], &message, &deltas);
        fuzz_check(same(&message, &deltas), "deltas of pieces up to %u", longest[i]);
        fuzz_check(same(&message, &whole), "pieces up to %u", longest[i]);
        fuzz_buffer_free(&message);
        fuzz_buffer_free(&deltas);
    }
    fuzz_buffer_free(&whole);
    fuzz_buffer_free(&whole_deltas);
    return 0;
}
