/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c - memory of one encode call. */
#include "tokenizer/encoder.h"
#include "base/checked.h"
#include "base/error.h"
#include "tokenizer/pretokenizer.h"

quire_status qr_encoder_nomem(struct qr_encoder *e)
{
    return qr_fail(e->err, QUIRE_E_NOMEM, "no memory to encode text");
}

bool qr_bytes_reserve(const struct quire_allocator *a, struct qr_bytes *b, size_t more)
{
    size_t need;
    /* GCOVR_EXCL_BR_LINE: the sum of two sizes of existing texts does not overflow */
    return qr_add_size(b->size, more, &need) && qr_grow(a, (void **)&b->data, &b->cap, need, 1);
}

void qr_encoder_free(struct qr_encoder *e)
{
    const struct quire_allocator *a = e->t->a;
    qr_free(a, e->symbols, e->cap_symbols, sizeof *e->symbols);
    qr_free(a, e->ends, e->cap_ends, sizeof *e->ends);
    qr_free(a, e->heap, e->cap_heap, sizeof *e->heap);
    qr_free(a, e->repaired.data, e->repaired.cap, 1);
    qr_free(a, e->normalized.data, e->normalized.cap, 1);
    qr_free(a, e->prefixed.data, e->prefixed.cap, 1);
    qr_free(a, e->piece.data, e->piece.cap, 1);
    qr_free(a, e->code_points, e->cap_code_points, sizeof *e->code_points);
    if (e->pretokenizer_scratch)
        qr_pretokenizer_scratch_destroy(e->pretokenizer_scratch);
}
