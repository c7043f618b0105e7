/* SPDX-License-Identifier: Apache-2.0 */
/* integer_table.c - tables of integers: the experts of each token, the tokens of each cluster. */
#include "model/load/integer_table.h"
#include "base/error.h"
#include "model/load/weights_source.h"
#include <string.h>

enum { CHUNK = 512 }; /* numbers that are read at a time */

/* What the numbers of a table may be. */
struct number_rule {
    uint32_t limit;
    bool offset; /* the number of an element is added to it */
};

/* Reads n numbers from number `first` on; *bad: there is one that is not below the limit. */
static quire_status read_numbers(const struct quire_model *m, const struct qr_weight *w,
                                 uint64_t first, size_t n, bool wide, struct number_rule rule,
                                 uint32_t *out, bool *bad, struct quire_error *err)
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
        if (rule.offset && v < rule.limit)
            v += (int64_t)(first + i);
        *bad = *bad || v < 0 || v >= rule.limit;
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

static quire_status read_table(struct quire_model *m, const struct qr_weight *w,
                               struct number_rule rule, uint32_t **out, bool *bad,
                               struct quire_error *err)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(m->weights, w->tensor, &t);
    const uint64_t n = w->n_rows * w->n_cols;
    const bool wide = strcmp(t.type_name, "I64") == 0;
    if (!wide && strcmp(t.type_name, "I32") != 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has type %s; a table of numbers must be I64 or I32", t.name,
                       t.type_name);
    uint32_t *table = qr_arena_alloc(&m->vectors, (size_t)w->n_rows, w->n_cols * sizeof *table);
    if (!table)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %.80s", t.name);
    for (uint64_t at = 0; at < n && !*bad; at += CHUNK)
        QR_TRY(read_numbers(m, w, at, n - at < CHUNK ? (size_t)(n - at) : CHUNK, wide, rule,
                            table + at, bad, err));
    m->weight_bytes += n * sizeof *table;
    *out = table;
    return QUIRE_OK;
}

static quire_status bad_table(const struct quire_model *m, const struct qr_weight *w,
                              const char *problem, uint32_t n, struct quire_error *err)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(m->weights, w->tensor, &t);
    return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s does not list %s %u", t.name, problem, n);
}

quire_status qr_router_table_load(struct quire_model *m, const struct qr_weight *w,
                                  const uint32_t **out, struct quire_error *err)
{
    const uint32_t n_experts = m->config->moe.n_experts;
    uint32_t *table;
    bool bad = false;
    QR_TRY(read_table(m, w, (struct number_rule){ n_experts, false }, &table, &bad, err));
    for (uint64_t r = 0; r < w->n_rows && !bad; r++)
        bad = has_twice(table + r * w->n_cols, w->n_cols);
    *out = table;
    return bad ? bad_table(m, w, "different experts for every token, of", n_experts, err)
               : QUIRE_OK;
}

quire_status qr_token_order_load(struct quire_model *m, const struct qr_weight *w,
                                 const uint32_t **out, struct quire_error *err)
{
    const uint32_t n = m->config->vocab_size;
    const struct number_rule rule = { n, m->config->mtp.order_is_offset };
    uint32_t *table;
    bool bad = false;
    QR_TRY(read_table(m, w, rule, &table, &bad, err));
    uint8_t *seen = qr_calloc(m->allocator, n, 1);
    if (!seen)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an order of %u tokens", n);
    for (uint64_t i = 0; i < w->n_cols && !bad; i++) {
        bad = seen[table[i]];
        seen[table[i]] = 1;
    }
    qr_free(m->allocator, seen, n, 1);
    *out = table;
    return bad ? bad_table(m, w, "different tokens, of", n, err) : QUIRE_OK;
}
