/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - the text of one answer: detokenizing, stop texts and what is held back. */
#include "engine/answer.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include <string.h>

/* More than a token, the longest stop text and a pause between two polls need; beyond it the
 * buffer grows. */
enum { FIRST_BYTES = 4096 };

quire_status qr_answer_init(struct qr_answer *a, const struct quire_tokenizer *tokenizer,
                            uint32_t flags, const char *const *stop, uint32_t n_stop,
                            const struct quire_allocator *allocator, struct quire_error *err)
{
    *a = (struct qr_answer){ .allocator = allocator };
    QR_TRY(qr_stops_init(&a->stops, stop, n_stop, allocator, err));
    quire_status s = quire_detokenizer_create(tokenizer, flags, &a->detokenizer, err);
    if (s == QUIRE_OK && !qr_grow(allocator, (void **)&a->text, &a->capacity, FIRST_BYTES, 1))
        s = qr_fail(err, QUIRE_E_NOMEM, "no memory for an answer");
    if (s != QUIRE_OK)
        qr_answer_free(a);
    return s;
}

void qr_answer_free(struct qr_answer *a)
{
    quire_detokenizer_destroy(a->detokenizer);
    qr_stops_free(&a->stops);
    qr_free(a->allocator, a->text, a->capacity, 1);
    *a = (struct qr_answer){ 0 };
}

/* Forgets what was handed out, so that the buffer stays small. */
static void drop_taken(struct qr_answer *a)
{
    memmove(a->text, a->text + a->taken, a->size - a->taken);
    a->size -= a->taken;
    a->safe -= a->taken;
    a->taken = 0;
}

static quire_status append(struct qr_answer *a, const char *piece, size_t size, bool *stopped,
                           struct quire_error *err)
{
    size_t need, end;
    if (!qr_add_size(a->size, size, &need) ||
        !qr_grow(a->allocator, (void **)&a->text, &a->capacity, need, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu bytes of answer", a->size);
    if (size)
        memcpy(a->text + a->size, piece, size);
    uint32_t length;
    *stopped = qr_stops_feed(&a->stops, piece, size, &end, &length);
    if (*stopped) {
        a->size += end;
        a->size -= length;
        a->safe = a->size;
    } else {
        a->size += size;
        a->safe = a->size - qr_stops_held(&a->stops);
    }
    return QUIRE_OK;
}

quire_status qr_answer_push(struct qr_answer *a, int32_t token, bool *stopped,
                            struct quire_error *err)
{
    const char *piece;
    size_t size;
    QR_TRY(quire_detokenizer_push(a->detokenizer, token, &piece, &size, err));
    drop_taken(a);
    return append(a, piece, size, stopped, err);
}

quire_status qr_answer_finish(struct qr_answer *a, struct quire_error *err)
{
    const char *piece;
    size_t size;
    bool stopped;
    drop_taken(a);
    QR_TRY(quire_detokenizer_finish(a->detokenizer, &piece, &size, err));
    QR_TRY(append(a, piece, size, &stopped, err));
    a->safe = a->size;
    return QUIRE_OK;
}

void qr_answer_take(struct qr_answer *a, const char **text, size_t *size)
{
    *text = a->text ? a->text + a->taken : "";
    *size = a->safe - a->taken;
    a->taken = a->safe;
}
