/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_jsonl.c - reads tokenizer.jsonl, a JSON array per line. */
#include "tokenizer/tokenizer_jsonl.h"
#include "base/error.h"
#include "format/json.h"
#include "tokenizer/plamo.h"
#include <string.h>

#define FILE_NAME "tokenizer.jsonl"

/* A line of the file, from 1. */
struct line {
    const char *text;
    size_t size, number;
};

static bool is_blank(const struct line *l)
{
    size_t i = 0;
    while (i < l->size && (l->text[i] == ' ' || l->text[i] == '\t' || l->text[i] == '\r'))
        i++;
    return i == l->size;
}

/* Goes to the first line of a text, where l->number is 0, or to the next one, that is not blank. */
static bool next_line(const char *text, size_t size, struct line *l)
{
    do {
        const size_t at = l->number ? (size_t)(l->text - text) + l->size + 1 : 0;
        if (at >= size)
            return false;
        const char *end = memchr(text + at, '\n', size - at);
        *l = (struct line){ text + at, end ? (size_t)(end - text) - at : size - at, l->number + 1 };
    } while (is_blank(l));
    return true;
}

static bool is_control(const char *text)
{
    const size_t n = strlen(text);
    return strncmp(text, "<|plamo:", 8) == 0 && n >= 10 && strcmp(text + n - 2, "|>") == 0;
}

static uint8_t type_of(const char *type, const char *text)
{
    if (strcmp(type, "UNKNOWN") == 0)
        return QUIRE_TOKEN_UNKNOWN;
    if (strcmp(type, "BYTE") == 0)
        return QUIRE_TOKEN_BYTE;
    return strcmp(type, "CONTROL") == 0 || is_control(text) ? QUIRE_TOKEN_CONTROL
                                                            : QUIRE_TOKEN_NORMAL;
}

/* Reads the JSON array of a line. */
static quire_status read_row(struct qr_vocab_spec *spec, const struct qr_json *row, size_t line,
                             struct qr_spec_token *out, struct quire_error *err)
{
    const char *text = qr_json_string(qr_json_at(row, 0)), *type = "NORMAL";
    const struct qr_json *third = qr_json_at(row, 2);
    double score;
    if (!text || !qr_json_is_f64(qr_json_at(row, 1), &score))
        return qr_fail(err, QUIRE_E_FORMAT,
                       FILE_NAME ", line %zu is not a list of a text, a score and a type", line);
    if (third)
        type = qr_json_string(third);
    if (!type)
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ", line %zu: the type is not a string", line);
    *out = (struct qr_spec_token){ .text = qr_arena_strndup(&spec->arena, text, strlen(text)),
                                   .size = strlen(text),
                                   .score = (float)qr_plamo_score(score),
                                   .type = type_of(type, text) };
    return out->text ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
}

static quire_status read_line(struct qr_vocab_spec *spec, const struct line *l,
                              const struct quire_allocator *a, struct qr_spec_token *out,
                              struct quire_error *err)
{
    struct qr_json_error error;
    struct qr_json *row = qr_json_parse(l->text, l->size, 0, a, &error);
    if (!row)
        return qr_fail(err, error.code, FILE_NAME ", line %zu: %s", l->number, error.text);
    const quire_status s = read_row(spec, row, l->number, out, err);
    qr_json_free(row);
    return s;
}

quire_status qr_tokenizer_jsonl_read(struct qr_vocab_spec *spec, const char *text, size_t size,
                                     const struct quire_allocator *a, struct quire_error *err)
{
    enum { SHORTEST = sizeof "[\"a\",0]" - 1 };
    size_t n = 0;
    for (struct line l = { 0 }; next_line(text, size, &l); n++)
        if (l.size < SHORTEST) /* bounds the memory for tokens by the size of the file */
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME ", line %zu is not a list of a text, a score and a type",
                           l.number);
    if (n > QR_MAX_TOKENS) /* GCOVR_EXCL_BR_LINE: a file of 128 MiB */
        return qr_fail(err, QUIRE_E_LIMIT, FILE_NAME " has %zu tokens, at most %d", n,
                       QR_MAX_TOKENS);
    spec->kind = QR_VOCAB_PLAMO;
    spec->n_tokens = n;
    spec->tokens = qr_arena_alloc(&spec->arena, n, sizeof *spec->tokens);
    if (!spec->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    struct line l = { 0 };
    for (size_t i = 0; next_line(text, size, &l); i++)
        QR_TRY(read_line(spec, &l, a, &spec->tokens[i], err));
    return QUIRE_OK;
}
