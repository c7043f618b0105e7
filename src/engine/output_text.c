/* SPDX-License-Identifier: Apache-2.0 */
/* output_text.c - incremental detokenization of the output, with stop strings. */
#include "engine/output_text.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "tokenizer/detokenizer.h"
#include <string.h>

/* Holds a token, the longest stop string and the text between two polls; longer text grows the
 * buffer. */
enum { INITIAL_BYTES = 4096 };

quire_status qr_output_text_init(struct qr_output_text *o, const struct quire_tokenizer *tokenizer,
                                 uint32_t flags, const char *const *stop, uint32_t n_stop,
                                 const struct quire_allocator *allocator, struct quire_error *err)
{
    *o = (struct qr_output_text){ .allocator = allocator };
    QR_TRY(qr_stop_strings_init(&o->stops, stop, n_stop, allocator, err));
    quire_status s = quire_detokenizer_create(tokenizer, flags, &o->detokenizer, err);
    if (s == QUIRE_OK && !qr_grow(allocator, (void **)&o->text, &o->capacity, INITIAL_BYTES, 1))
        s = qr_fail(err, QUIRE_E_NOMEM, "no memory for the output text");
    if (s != QUIRE_OK)
        qr_output_text_free(o);
    return s;
}

void qr_output_text_free(struct qr_output_text *o)
{
    quire_detokenizer_destroy(o->detokenizer);
    qr_stop_strings_free(&o->stops);
    qr_free(o->allocator, o->text, o->capacity, 1);
    *o = (struct qr_output_text){ 0 };
}

/* Bounds the buffer by the text that is not taken yet. */
static void drop_taken(struct qr_output_text *o)
{
    memmove(o->text, o->text + o->n_taken, o->size - o->n_taken);
    o->size -= o->n_taken;
    o->n_released -= o->n_taken;
    o->n_taken = 0;
}

static quire_status append(struct qr_output_text *o, const char *piece, size_t size, bool *stopped,
                           struct quire_error *err)
{
    size_t need, end;
    if (!qr_add_size(o->size, size, &need) ||
        !qr_grow(o->allocator, (void **)&o->text, &o->capacity, need, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu bytes of output text", o->size);
    if (size)
        memcpy(o->text + o->size, piece, size);
    uint32_t length;
    *stopped = qr_stop_strings_scan(&o->stops, piece, size, &end, &length);
    if (*stopped) {
        o->size += end;
        o->size -= length;
        o->n_released = o->size;
    } else {
        o->size += size;
        o->n_released = o->size - qr_stop_strings_partial(&o->stops);
    }
    return QUIRE_OK;
}

quire_status qr_output_text_push(struct qr_output_text *o, int32_t token, bool *stopped,
                                 struct quire_error *err)
{
    const char *piece;
    size_t size;
    QR_TRY(quire_detokenizer_push(o->detokenizer, token, &piece, &size, err));
    drop_taken(o);
    return append(o, piece, size, stopped, err);
}

quire_status qr_output_text_copy(struct qr_output_text *to, const struct qr_output_text *from,
                                 struct quire_error *err)
{
    const size_t n = from->size - from->n_taken;
    if (!qr_grow(to->allocator, (void **)&to->text, &to->capacity, n, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu bytes of output text", n);
    if (n)
        memcpy(to->text, from->text + from->n_taken, n);
    to->size = n;
    to->n_taken = 0;
    to->n_released = from->n_released - from->n_taken;
    qr_detokenizer_copy(to->detokenizer, from->detokenizer);
    qr_stop_strings_copy(&to->stops, &from->stops);
    return QUIRE_OK;
}

quire_status qr_output_text_flush(struct qr_output_text *o, struct quire_error *err)
{
    const char *piece;
    size_t size;
    bool stopped;
    drop_taken(o);
    QR_TRY(quire_detokenizer_finish(o->detokenizer, &piece, &size, err));
    QR_TRY(append(o, piece, size, &stopped, err));
    o->n_released = o->size;
    return QUIRE_OK;
}

size_t qr_output_text_pending(const struct qr_output_text *o) { return o->n_released - o->n_taken; }

void qr_output_text_drop(struct qr_output_text *o) { o->n_taken = o->n_released; }

quire_status qr_output_text_move(struct qr_output_text *o, struct qr_text_buffer *to,
                                 struct quire_error *err)
{
    const size_t n = qr_output_text_pending(o);
    size_t need;
    if (!qr_add_size(to->size, n, &need) ||
        !qr_grow(o->allocator, (void **)&to->text, &to->capacity, need, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu bytes of output text", to->size);
    if (n)
        memcpy(to->text + to->size, o->text + o->n_taken, n);
    to->size += n;
    o->n_taken = o->n_released;
    return QUIRE_OK;
}
