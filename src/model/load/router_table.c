/* SPDX-License-Identifier: Apache-2.0 */
/* router_table.c - tables that give the experts of each token. */
#include "model/load/router_table.h"
#include "base/error.h"
#include "model/load/weights_source.h"
#include <string.h>

enum { CHUNK = 512 }; /* numbers that are read at a time */

/* Reads n numbers from number `first` on; false through *bad for one that is not below `limit`. */
static quire_status read_numbers(const struct quire_model *m, const struct qr_weight *w,
                                 uint64_t first, size_t n, bool wide, uint32_t limit, uint32_t *out,
                                 bool *bad, struct quire_error *err)
{
    const size_t size = wide ? sizeof(int64_t) : sizeof(int32_t);
    uint8_t raw[CHUNK * sizeof(int64_t)];
    QR_TRY(qr_weights_read_source(m->weights, w->tensor, first * size, n * size, raw, err));
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        int32_t narrow;
        if (wide) {
            memcpy(&v, raw + i * size, size);
        } else {
            memcpy(&narrow, raw + i * size, size);
            v = narrow;
        }
        *bad = *bad || v < 0 || v >= limit;
        out[i] = *bad ? 0 : (uint32_t)v;
    }
    return QUIRE_OK;
}

static bool has_twice(const uint32_t *experts, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < i; j++)
            if (experts[i] == experts[j])
                return true;
    return false;
}

quire_status qr_router_table_load(struct quire_model *m, const struct qr_weight *w,
                                  const uint32_t **out, struct quire_error *err)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(m->weights, w->tensor, &t);
    const uint64_t n = w->n_rows * w->n_cols;
    const bool wide = strcmp(t.type_name, "I64") == 0;
    bool bad = false;
    if (!wide && strcmp(t.type_name, "I32") != 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has type %s; a table of experts must be I64 or I32", t.name,
                       t.type_name);
    uint32_t *table = qr_arena_alloc(&m->vectors, (size_t)w->n_rows, w->n_cols * sizeof *table);
    if (!table)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %.80s", t.name);
    for (uint64_t at = 0; at < n && !bad; at += CHUNK)
        QR_TRY(read_numbers(m, w, at, n - at < CHUNK ? (size_t)(n - at) : CHUNK, wide,
                            m->config->moe.n_experts, table + at, &bad, err));
    for (uint64_t r = 0; r < w->n_rows && !bad; r++)
        bad = has_twice(table + r * w->n_cols, w->n_cols);
    if (bad)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.80s does not list different ones of %u experts for every token",
                       t.name, m->config->moe.n_experts);
    m->weight_bytes += n * sizeof *table;
    *out = table;
    return QUIRE_OK;
}
