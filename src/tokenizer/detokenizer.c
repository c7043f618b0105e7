/* SPDX-License-Identifier: Apache-2.0 */
/* detokenizer.c - streaming detokenizer; emits whole characters only. */
#include "tokenizer/detokenizer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/utf8.h"
#include "tokenizer/types.h"
#include <string.h>

enum { MAX_HELD = 3, REPLACEMENT_SIZE = 3 };

struct quire_detokenizer {
    struct qr_handle handle;
    const struct quire_tokenizer *t;
    uint32_t flags;
    bool at_start;             /* no text so far */
    uint8_t held[QR_UTF8_MAX]; /* bytes of an incomplete character */
    uint32_t n_held;           /* at most MAX_HELD between calls */
    size_t out_max;
    uint8_t *out;
};

/* Bytes that one push of a token of `bytes` bytes may write: each may become U+FFFD. */
static size_t max_output(size_t bytes) { return (bytes + MAX_HELD) * REPLACEMENT_SIZE; }

static void reset(struct quire_detokenizer *d)
{
    d->at_start = !(d->flags & QUIRE_DETOKENIZE_CONTINUES);
    d->n_held = 0;
}

quire_status quire_detokenizer_create(const struct quire_tokenizer *tok, uint32_t flags,
                                      struct quire_detokenizer **out, struct quire_error *err)
{
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(tok, QR_KIND_TOKENIZER, "tok", err));
    if (flags & ~(uint32_t)(QUIRE_DETOKENIZE_SPECIAL | QUIRE_DETOKENIZE_CONTINUES))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags = 0x%x has unknown bits", flags);
    struct quire_detokenizer *d = qr_calloc(tok->a, 1, sizeof *d);
    const size_t out_max = max_output(tok->max_bytes);
    uint8_t *buf = qr_alloc(tok->a, out_max, 1);
    if (!d || !buf) {
        qr_free(tok->a, d, 1, sizeof *d);
        qr_free(tok->a, buf, out_max, 1);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the detokenizer");
    }
    *d = (struct quire_detokenizer){
        .handle = { QR_KIND_DETOKENIZER }, .t = tok, .flags = flags, .out_max = out_max, .out = buf
    };
    reset(d);
    *out = d;
    return QUIRE_OK;
}

void quire_detokenizer_destroy(struct quire_detokenizer *d)
{
    if (!qr_handle_end(d, QR_KIND_DETOKENIZER))
        return;
    const struct quire_allocator *a = d->t->a;
    qr_free(a, d->out, d->out_max, 1);
    qr_free(a, d, 1, sizeof *d);
}

void qr_detokenizer_copy(struct quire_detokenizer *to, const struct quire_detokenizer *from)
{
    to->at_start = from->at_start;
    to->n_held = from->n_held;
    memcpy(to->held, from->held, sizeof to->held);
}

/* Adds a byte to the held ones and writes the characters this completes; returns their size. */
static size_t push_byte(struct quire_detokenizer *d, uint8_t b, uint8_t *out)
{
    size_t n = 0;
    d->held[d->n_held++] = b;
    while (d->n_held) {
        uint32_t cp = QR_UTF8_REPLACEMENT;
        const int len = qr_utf8_next(d->held, d->n_held, &cp);
        if (len == 0)
            break;
        const uint32_t taken = (uint32_t)(len > 0 ? len : -len);
        n += qr_utf8_put(out + n, len > 0 ? cp : (uint32_t)QR_UTF8_REPLACEMENT);
        memmove(d->held, d->held + taken, d->n_held - taken);
        d->n_held -= taken;
    }
    return n;
}

/* Writes the text of one token to out and returns its size. */
static size_t put_token(struct quire_detokenizer *d, int32_t token, uint8_t *out)
{
    const struct quire_tokenizer *t = d->t;
    const struct qr_token *tok = &t->tokens[token];
    if (tok->special && !(d->flags & QUIRE_DETOKENIZE_SPECIAL))
        return 0;
    const uint8_t *s = (const uint8_t *)t->pool + tok->bytes_offset;
    size_t i = 0, n = 0;
    if (!tok->special) {
        i = d->at_start && t->strip_prepended_space && *s == ' ';
        d->at_start = false;
    }
    for (; i < tok->bytes_size; i++)
        n += push_byte(d, s[i], out + n);
    return n;
}

/* Writes U+FFFD for an incomplete character, and resets the stream. */
static size_t put_incomplete(struct quire_detokenizer *d, uint8_t *out)
{
    const size_t n = d->n_held ? qr_utf8_put(out, QR_UTF8_REPLACEMENT) : 0;
    reset(d);
    return n;
}

static quire_status check_token(const struct quire_tokenizer *t, int32_t token, size_t index,
                                struct quire_error *err)
{
    if (token < 0 || (uint32_t)token >= t->n_tokens)
        return qr_fail(err, QUIRE_E_RANGE, "token %zu is %d, outside the vocabulary of %u", index,
                       token, t->n_tokens);
    return QUIRE_OK;
}

quire_status quire_detokenizer_push(struct quire_detokenizer *d, int32_t token, const char **text,
                                    size_t *size, struct quire_error *err)
{
    QR_TRY(qr_handle_check(d, QR_KIND_DETOKENIZER, "d", err));
    if (!text || !size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", text ? "size" : "text");
    QR_TRY(check_token(d->t, token, 0, err));
    *size = put_token(d, token, d->out);
    *text = (const char *)d->out;
    return QUIRE_OK;
}

quire_status quire_detokenizer_finish(struct quire_detokenizer *d, const char **text, size_t *size,
                                      struct quire_error *err)
{
    QR_TRY(qr_handle_check(d, QR_KIND_DETOKENIZER, "d", err));
    if (!text || !size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", text ? "size" : "text");
    *size = put_incomplete(d, d->out);
    *text = (const char *)d->out;
    return QUIRE_OK;
}

/* Appends to a buffer that may be too small; *size counts all bytes. */
static void append(char *buf, size_t buf_max, size_t *size, const uint8_t *text, size_t n)
{
    if (*size < buf_max)
        memcpy(buf + *size, text, n < buf_max - *size ? n : buf_max - *size);
    *size += n;
}

quire_status quire_tokenizer_decode(const struct quire_tokenizer *tok, const int32_t *ids,
                                    size_t n_ids, uint32_t flags, char *buf, size_t buf_max,
                                    size_t *size, struct quire_error *err)
{
    QR_TRY(qr_handle_check(tok, QR_KIND_TOKENIZER, "tok", err));
    if (!size || (!ids && n_ids) || (!buf && buf_max))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL",
                       !size             ? "size"
                       : !buf && buf_max ? "buf"
                                         : "ids");
    for (size_t i = 0; i < n_ids; i++)
        QR_TRY(check_token(tok, ids[i], i, err));
    struct quire_detokenizer *d = NULL;
    const quire_status st = quire_detokenizer_create(tok, flags, &d, err);
    if (!d)
        return st;
    size_t total = 0;
    for (size_t i = 0; i < n_ids; i++)
        append(buf, buf_max, &total, d->out, put_token(d, ids[i], d->out));
    append(buf, buf_max, &total, d->out, put_incomplete(d, d->out));
    quire_detokenizer_destroy(d);
    *size = total;
    if (buf_max && total > buf_max)
        return qr_fail(err, QUIRE_E_LIMIT, "text has %zu bytes, buf_max is %zu", total, buf_max);
    return QUIRE_OK;
}
