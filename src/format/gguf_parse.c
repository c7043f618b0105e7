/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_parse.c - second pass over a GGUF header: key/value pairs. */
#include "format/gguf_parse.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/reader.h"
#include "format/gguf_meta.h"

enum { FIRST_KV = 4 + 4 + 8 + 8 }; /* header offset: magic, version and two counts precede it */

/* The scan has read the same bytes, so a short read means that the file was modified since. */
static quire_status changed(const struct qr_reader *r, struct quire_error *err)
{
    return qr_fail_at(err, QUIRE_E_IO, r->pos, "the file changed while it was read");
}

static bool read_string(struct qr_reader *r, uint64_t max, const uint8_t **s, size_t *len)
{
    uint64_t n;
    if (!qr_read_u64(r, &n) || n > max || n > qr_reader_left(r))
        return false;
    *len = (size_t)n;
    return qr_read_bytes(r, *len, s);
}

/* Keys are restricted to printable ASCII because error messages quote them. */
static bool printable(const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] < 0x20 || s[i] > 0x7e)
            return false;
    return n > 0;
}

static quire_status check_bools(const uint8_t *p, size_t n, uint64_t at, struct quire_error *err)
{
    for (size_t i = 0; i < n; i++, at++)
        if (p[i] > 1)
            return qr_fail_at(err, QUIRE_E_FORMAT, at,
                              "bool value %u at byte %llu, 0 or 1 expected", p[i],
                              (unsigned long long)at);
    return QUIRE_OK;
}

static quire_status parse_array(struct qr_gguf_meta *m, struct qr_gguf_kv *kv, struct qr_reader *r,
                                struct quire_error *err)
{
    uint32_t elem;
    uint64_t count;
    const uint8_t *p;
    size_t len, bytes;
    if (!qr_read_u32(r, &elem) || !qr_read_u64(r, &count))
        return changed(r, err);
    kv->elem = (uint8_t)elem;
    kv->value_at = (uint32_t)r->pos;
    const size_t size = qr_gguf_value_bytes(elem);
    if (size) {
        if (!qr_mul_size((size_t)count, size, &bytes) || !qr_read_bytes(r, bytes, &p))
            return changed(r, err);
        return elem == QR_GGUF_BOOL ? check_bools(p, bytes, kv->value_at, err) : QUIRE_OK;
    }
    kv->strings = (uint32_t)m->n_strings;
    if (elem != QR_GGUF_STRING || count > m->string_cap - m->n_strings)
        return changed(r, err);
    for (uint64_t i = 0; i < count; i++) {
        if (!read_string(r, UINT64_MAX, &p, &len))
            return changed(r, err);
        m->string_at[m->n_strings++] = (uint32_t)(p - m->header);
    }
    return QUIRE_OK;
}

static quire_status parse_kv(struct qr_gguf_meta *m, struct qr_reader *r, struct quire_error *err)
{
    const uint8_t *key, *p;
    size_t key_len, size;
    uint32_t type;
    const size_t at = r->pos;
    if (!read_string(r, QR_GGUF_MAX_KEY_BYTES, &key, &key_len) || !qr_read_u32(r, &type))
        return changed(r, err);
    if (!printable(key, key_len))
        return qr_fail_at(err, QUIRE_E_FORMAT, at, "metadata key number %zu at byte %zu is %s",
                          m->n_kv, at, key_len ? "not printable ASCII" : "empty");
    struct qr_gguf_kv *kv = &m->kv[m->n_kv];
    *kv = (struct qr_gguf_kv){ .key_at = (uint32_t)(key - m->header),
                               .key_len = (uint16_t)key_len,
                               .type = (uint8_t)type,
                               .value_at = (uint32_t)r->pos };
    const uint32_t i = (uint32_t)m->n_kv;
    if (qr_name_index_add(&m->index, m, qr_gguf_key_name, i) != i)
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "metadata key %.*s appears twice, again at byte %zu",
                          key_len < 100 ? (int)key_len : 100, (const char *)key, at);
    m->n_kv++;
    if (type == QR_GGUF_ARRAY)
        return parse_array(m, kv, r, err);
    if (type == QR_GGUF_STRING)
        return read_string(r, UINT64_MAX, &p, &size) ? QUIRE_OK : changed(r, err);
    size = qr_gguf_value_bytes(type);
    if (size == 0 || !qr_read_bytes(r, size, &p))
        return changed(r, err);
    return type == QR_GGUF_BOOL ? check_bools(p, 1, kv->value_at, err) : QUIRE_OK;
}

static quire_status load_header(const struct qr_file *f, const struct qr_gguf_counts *counts,
                                const struct quire_allocator *a, struct qr_gguf_meta *m,
                                struct quire_error *err)
{
    m->header_bytes = (size_t)counts->header_bytes;
    m->header = f->data;
    if (!f->data) {
        m->header = m->owned = qr_alloc(a, m->header_bytes, 1);
        if (!m->owned)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for a GGUF header of %zu bytes",
                           m->header_bytes);
        QR_TRY(qr_file_read(f, 0, m->owned, m->header_bytes, err));
    }
    m->kv_cap = (size_t)counts->n_kv;
    m->string_cap = (size_t)counts->n_strings;
    m->kv = qr_alloc(a, m->kv_cap, sizeof *m->kv);
    m->string_at = qr_alloc(a, m->string_cap, sizeof *m->string_at);
    if (!m->kv || !m->string_at || !qr_name_index_init(&m->index, m->kv_cap, a))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %llu metadata entries",
                       (unsigned long long)counts->n_kv);
    return QUIRE_OK;
}

void qr_gguf_meta_free(struct qr_gguf_meta *m, const struct quire_allocator *a)
{
    qr_name_index_free(&m->index, a);
    qr_free(a, m->string_at, m->string_cap, sizeof *m->string_at);
    qr_free(a, m->kv, m->kv_cap, sizeof *m->kv);
    qr_free(a, m->owned, m->header_bytes, 1);
    *m = (struct qr_gguf_meta){ 0 };
}

quire_status qr_gguf_parse_meta(const struct qr_file *f, const struct qr_gguf_counts *counts,
                                const struct quire_allocator *a, struct qr_gguf_meta *meta,
                                size_t *tensors_at, struct quire_error *err)
{
    *meta = (struct qr_gguf_meta){ 0 };
    quire_status s = load_header(f, counts, a, meta, err);
    struct qr_reader r = { meta->header, meta->header_bytes, FIRST_KV };
    for (uint64_t i = 0; s == QUIRE_OK && i < counts->n_kv; i++)
        s = parse_kv(meta, &r, err);
    if (s != QUIRE_OK) {
        qr_gguf_meta_free(meta, a);
        return s;
    }
    *tensors_at = meta->kv_end = r.pos;
    return QUIRE_OK;
}
