/* SPDX-License-Identifier: Apache-2.0 */
/* tok_encode.c - the public encode calls: special tokens, what lies between them, and the ends. */
#include "base/utf8.h"
#include "tokenizer/impl.h"
#include "tokenizer/pretok.h"
#include <utf8proc.h>

quire_status qr_encoder_nomem(struct qr_encoder *e)
{
    return qr_fail(e->err, QUIRE_E_NOMEM, "out of memory while encoding text");
}

bool qr_bytes_reserve(const struct quire_allocator *a, struct qr_bytes *b, size_t more)
{
    size_t need;
    return qr_add_size(b->size, more, &need) && qr_grow(a, (void **)&b->data, &b->cap, need, 1);
}

bool qr_is_space(uint32_t cp)
{
    return cp == ' ' || (cp >= '\t' && cp <= '\r') || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F ||
           cp == 0x205F || cp == 0x3000;
}

static void encoder_free(struct qr_encoder *e)
{
    const struct quire_allocator *a = e->t->a;
    qr_free(a, e->symbols, e->cap_symbols, sizeof *e->symbols);
    qr_free(a, e->heap, e->cap_heap, sizeof *e->heap);
    qr_free(a, e->repaired.data, e->repaired.cap, 1);
    qr_free(a, e->normal.data, e->normal.cap, 1);
    qr_free(a, e->shifted.data, e->shifted.cap, 1);
    qr_free(a, e->piece.data, e->piece.cap, 1);
    qr_free(a, e->points, e->cap_points, sizeof *e->points);
    if (e->match_data)
        qr_pretok_scratch_destroy(e->match_data);
}

/* Text between special tokens. */
static quire_status encode_fragment(struct qr_encoder *e, const uint8_t *s, size_t n, bool at_start)
{
    if (!n)
        return QUIRE_OK;
    if (!qr_utf8_valid(s, n)) {
        e->repaired.size = 0;
        if (!qr_bytes_reserve(e->t->a, &e->repaired, qr_utf8_repair(s, n, NULL)))
            return qr_encoder_nomem(e);
        n = qr_utf8_repair(s, n, e->repaired.data);
        s = e->repaired.data;
    }
    switch (e->t->kind) {
    case QR_VOCAB_BYTE_BPE:
        return qr_encode_byte_bpe(e, s, n, at_start);
    case QR_VOCAB_CHAR_BPE:
        return qr_encode_char_bpe(e, s, n, at_start);
    case QR_VOCAB_WORDPIECE:
        return qr_encode_wordpiece(e, s, n);
    }
    return qr_fail(e->err, QUIRE_E_INTERNAL, "tokenizer kind %d", (int)e->t->kind);
}

/* The input as one text with an owner for each byte. */
struct input {
    const char *text;
    size_t size;
    const struct quire_text_span *spans; /* NULL: all of it has one owner */
    size_t n_spans;
    bool parse_special;
};

/* Bytes from `at` to the next byte of a user, 0 if `at` is one; `enough` of them need not be exact.
 * *span: where `at` was last time or before. */
static size_t own_bytes(const struct input *in, size_t at, size_t enough, size_t *span)
{
    if (!in->parse_special)
        return 0;
    if (!in->spans)
        return in->size - at;
    size_t i = *span;
    while (i < in->n_spans && in->spans[i].offset + in->spans[i].size <= at)
        i++;
    *span = i;
    size_t end = at;
    for (; i < in->n_spans && end - at < enough; i++) {
        if (in->spans[i].is_user_text && in->spans[i].size)
            break;
        end = in->spans[i].offset + in->spans[i].size;
    }
    return end - at;
}

static size_t space_before(const uint8_t *s, size_t begin, size_t end)
{
    while (end > begin) {
        size_t at = end - 1;
        while (at > begin && qr_utf8_is_continuation(s[at]))
            at--;
        uint32_t cp = 0;
        if (qr_utf8_next_final(s + at, end - at, &cp) != (int)(end - at) || !qr_is_space(cp))
            break;
        end = at;
    }
    return end;
}

static size_t space_behind(const uint8_t *s, size_t begin, size_t n)
{
    uint32_t cp = 0;
    for (int len; begin < n; begin += (size_t)len) {
        len = qr_utf8_next_final(s + begin, n - begin, &cp);
        if (len < 0 || !qr_is_space(cp))
            break;
    }
    return begin;
}

static bool is_word_char(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NO) || c == UTF8PROC_CATEGORY_PC;
}

/* Whether s[begin..end) is not part of a longer word. */
static bool stands_alone(const uint8_t *s, size_t begin, size_t end, size_t n)
{
    uint32_t cp = 0;
    if (begin) {
        size_t at = begin - 1;
        while (at && qr_utf8_is_continuation(s[at]))
            at--;
        if (qr_utf8_next_final(s + at, begin - at, &cp) > 0 && is_word_char(cp))
            return false;
    }
    return end >= n || qr_utf8_next_final(s + end, n - end, &cp) < 0 || !is_word_char(cp);
}

static quire_status encode_input(struct qr_encoder *e, const struct input *in)
{
    const struct quire_tokenizer *t = e->t;
    const uint8_t *s = (const uint8_t *)in->text;
    size_t done = 0, span = 0;
    if (!in->size) /* the text may be NULL */
        return QUIRE_OK;
    for (size_t at = 0; at < in->size; at++) {
        if (!t->starts_special[s[at]])
            continue;
        const struct qr_special_text *found =
            qr_special_at(t, in->text + at, in->size - at, own_bytes(in, at, t->max_text, &span));
        if (!found)
            continue;
        const uint8_t match = t->tokens[found->id].match;
        const size_t end = at + found->size;
        if ((match & QR_TOKEN_SINGLE_WORD) && !stands_alone(s, at, end, in->size))
            continue;
        const size_t stop = match & QR_TOKEN_LSTRIP ? space_before(s, done, at) : at;
        QR_TRY(encode_fragment(e, s + done, stop - done, done == 0));
        qr_emit(e, found->id);
        done = match & QR_TOKEN_RSTRIP ? space_behind(s, end, in->size) : end;
        at = done - 1;
    }
    return encode_fragment(e, s + done, in->size - done, done == 0);
}

static quire_status check_spans(const struct input *in, struct quire_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < in->n_spans; i++) {
        if (in->spans[i].offset != at || in->spans[i].size > in->size - at)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "spans[%zu]: %zu bytes at %zu, expected to begin at %zu of %zu", i,
                           in->spans[i].size, in->spans[i].offset, at, in->size);
        at += in->spans[i].size;
    }
    if (at != in->size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "spans cover %zu of %zu bytes", at, in->size);
    return QUIRE_OK;
}

static quire_status encode(const struct quire_tokenizer *t, const struct input *in, uint32_t flags,
                           int32_t *ids, size_t ids_max, size_t *n_ids, struct quire_error *err)
{
    struct qr_encoder e = { .t = t, .err = err, .max_ids = ids_max };
    e.ids = ids;
    for (uint32_t i = 0; (flags & QUIRE_ENCODE_ADD_BOS) && i < t->n_prefix_ids; i++)
        qr_emit(&e, t->prefix_ids[i]);
    const quire_status st = encode_input(&e, in);
    for (uint32_t i = 0; (flags & QUIRE_ENCODE_ADD_EOS) && i < t->n_suffix_ids; i++)
        qr_emit(&e, t->suffix_ids[i]);
    encoder_free(&e);
    QR_TRY(st);
    *n_ids = e.n_ids;
    if (ids_max && e.n_ids > ids_max)
        return qr_fail(err, QUIRE_E_LIMIT, "text has %zu tokens, room for %zu", e.n_ids, ids_max);
    return QUIRE_OK;
}

static quire_status check_arguments(const struct quire_tokenizer *tok, const char *text,
                                    size_t size, uint32_t flags, const int32_t *ids, size_t ids_max,
                                    const size_t *n_ids, struct quire_error *err)
{
    const uint32_t known = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS | QUIRE_ENCODE_PARSE_SPECIAL;
    if (!tok || !n_ids || (!text && size) || (!ids && ids_max))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL",
                       !tok            ? "tok"
                       : !n_ids        ? "n_ids"
                       : !text && size ? "text"
                                       : "ids");
    if (flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags = 0x%x has unknown bits", flags);
    if (size > INT32_MAX)
        return qr_fail(err, QUIRE_E_LIMIT, "text of %zu bytes, at most %d", size, INT32_MAX);
    return QUIRE_OK;
}

quire_status quire_tokenizer_encode(const struct quire_tokenizer *tok, const char *text,
                                    size_t size, uint32_t flags, int32_t *ids, size_t ids_max,
                                    size_t *n_ids, struct quire_error *err)
{
    QR_TRY(check_arguments(tok, text, size, flags, ids, ids_max, n_ids, err));
    const struct input in = { .text = text,
                              .size = size,
                              .parse_special = (flags & QUIRE_ENCODE_PARSE_SPECIAL) != 0 };
    return encode(tok, &in, flags, ids, ids_max, n_ids, err);
}

/* NOLINTNEXTLINE(readability-function-size): two arrays in, one out */
quire_status quire_tokenizer_encode_spans(const struct quire_tokenizer *tok, const char *text,
                                          size_t size, const struct quire_text_span *spans,
                                          size_t n_spans, uint32_t flags, int32_t *ids,
                                          size_t ids_max, size_t *n_ids, struct quire_error *err)
{
    QR_TRY(check_arguments(tok, text, size, flags, ids, ids_max, n_ids, err));
    if (!spans && n_spans)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "spans is NULL");
    const struct input in = { .text = text,
                              .size = size,
                              .spans = spans,
                              .n_spans = n_spans,
                              .parse_special = (flags & QUIRE_ENCODE_PARSE_SPECIAL) != 0 };
    QR_TRY(check_spans(&in, err));
    return encode(tok, &in, flags, ids, ids_max, n_ids, err);
}
