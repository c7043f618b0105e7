/* SPDX-License-Identifier: Apache-2.0 */
/* source_identity.c - identifies the files that weights come from without reading all of them. */
#include "model/load/source_identity.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "format/file.h"
#include "format/gguf.h"
#include "format/safetensors.h"
#include "model/load/weights_read.h"
#include "model/load/weights_source.h"
#include <string.h>

static uint64_t hash_u64(uint64_t h, uint64_t v) { return qr_fnv1a(h, &v, sizeof v); }

static uint64_t hash_tensor(uint64_t h, const struct qr_source_tensor *t)
{
    h = qr_fnv1a(h, t->name, strlen(t->name) + 1);
    h = hash_u64(h, t->type);
    h = hash_u64(h, t->n_dims);
    h = qr_fnv1a(h, t->dims, sizeof t->dims);
    return hash_u64(h, t->bytes);
}

static const struct qr_file *source_file(const struct qr_weights *w, size_t i)
{
    return w->gguf ? qr_gguf_file(w->gguf, i) : qr_safetensors_file(w->safetensors, i);
}

static void add_file(struct qr_source_id *id, const struct qr_file *f)
{
    id->bytes += f->size;
    id->mtime_ns = f->mtime_ns > id->mtime_ns ? f->mtime_ns : id->mtime_ns;
    id->hash = hash_u64(hash_u64(id->hash, f->size), (uint64_t)f->mtime_ns);
}

void qr_weights_identify(const struct qr_weights *w, struct qr_source_id *id)
{
    *id = (struct qr_source_id){ .hash = QR_FNV1A_INIT };
    const struct qr_file *f;
    for (size_t i = 0; (f = source_file(w, i)) != NULL; i++)
        add_file(id, f);
    for (size_t d = 0; d < QR_MAX_DENSE && w->dense[d]; d++)
        for (size_t i = 0; (f = qr_safetensors_file(w->dense[d], i)) != NULL; i++)
            add_file(id, f);
    for (size_t i = 0; i < qr_weights_source_count(w); i++) {
        struct qr_source_tensor t;
        qr_weights_source_tensor(w, i, &t);
        id->hash = hash_tensor(id->hash, &t);
    }
}

quire_status qr_weights_hash(const struct qr_weights *w, const struct qr_weight *weight,
                             uint64_t *h, struct quire_error *err)
{
    enum { SAMPLE_BYTES = 1024 };
    uint8_t sample[SAMPLE_BYTES];
    const uint64_t unit = weight->unit_bytes, bytes = unit < SAMPLE_BYTES ? unit : SAMPLE_BYTES;
    QR_TRY(qr_weights_read_source(w, weight->tensor, weight->first_byte, bytes, sample, err));
    const uint64_t location[] = { weight->tensor, weight->first_byte, weight->unit_bytes,
                                  weight->group,  weight->stride,     weight->column_bytes };
    *h = qr_fnv1a(qr_fnv1a(*h, location, sizeof location), sample, (size_t)bytes);
    const uint32_t *order = qr_weights_order(w, weight);
    if (order)
        *h = qr_fnv1a(*h, order, (size_t)weight->n_cols * sizeof *order);
    return QUIRE_OK;
}
