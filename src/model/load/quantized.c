/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.c - the table of plain tensors and quantized matrices of a checkpoint. */
#include "model/load/quantized.h"
#include "base/error.h"
#include "format/safetensors.h"
#include "model/load/quantized_bind.h"
#include <string.h>

static const char *entry_name(const void *owner, uint32_t i, size_t *len)
{
    const struct qr_weights *w = owner;
    size_t file;
    const struct qr_quantized_tensor *t = qr_quantized_get(w->quantized, i, &file);
    const char *name = t ? t->name : qr_safetensors_tensor(w->safetensors, file)->name;
    *len = strlen(name);
    return name;
}

/* Lists the plain tensors that are not hidden, then the matrices, and indexes their names. */
static quire_status make_entries(struct qr_weights *w, const uint8_t *hidden,
                                 struct quire_error *err)
{
    struct qr_quantized *q = w->quantized;
    q->entries = qr_arena_alloc(&w->lists, q->n_files + q->n_tensors, sizeof *q->entries);
    if (!q->entries || !qr_name_index_init(&q->index, q->n_files + q->n_tensors, w->allocator))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a table of %zu tensors", q->n_files);
    for (size_t i = 0; i < q->n_files + q->n_tensors; i++)
        if (i >= q->n_files || !hidden[i])
            q->entries[q->n_entries++] = (uint32_t)i;
    for (uint32_t i = 0; i < q->n_entries; i++)
        if (qr_name_index_add(&q->index, w, entry_name, i) != i) {
            size_t n;
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s is in the files twice, quantized",
                           entry_name(w, i, &n));
        }
    return QUIRE_OK;
}

quire_status qr_quantized_open(struct qr_weights *w, struct quire_error *err)
{
    if (w->config.quantization.method == QR_QUANTIZATION_NONE)
        return QUIRE_OK;
    const size_t n = qr_safetensors_count(w->safetensors);
    struct qr_quantized *q = qr_arena_alloc(&w->lists, 1, sizeof *q);
    uint8_t *hidden = qr_calloc(w->allocator, n, 1);
    quire_status s = QUIRE_E_NOMEM;
    /* GCOVR_EXCL_BR_LINE: so many tensors have headers of 100 GB */
    if (q && hidden && n < UINT32_MAX / 2) {
        w->quantized = q;
        q->n_files = n;
        s = qr_quantized_bind(w, hidden, err);
        if (s == QUIRE_OK)
            s = make_entries(w, hidden, err);
    } else {
        qr_fail(err, s, "no memory for a table of %zu tensors", n);
    }
    qr_free(w->allocator, hidden, n, 1);
    return s;
}

void qr_quantized_close(struct qr_weights *w)
{
    if (w->quantized)
        qr_name_index_free(&w->quantized->index, w->allocator);
    w->quantized = NULL; /* its memory is that of w->lists */
}

size_t qr_quantized_count(const struct qr_quantized *q) { return q->n_entries; }

bool qr_quantized_find(const struct qr_weights *w, const char *name, size_t *i)
{
    uint32_t found;
    if (!qr_name_index_find(&w->quantized->index, w, entry_name, name, strlen(name), &found))
        return false;
    *i = found;
    return true;
}

const struct qr_quantized_tensor *qr_quantized_get(const struct qr_quantized *q, size_t i,
                                                   size_t *file)
{
    *file = q->entries[i];
    return *file < q->n_files ? NULL : &q->tensors[*file - q->n_files];
}
