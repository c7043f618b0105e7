/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_scan.c - first pass over a GGUF header: checks counts, lengths and types. */
#include "format/gguf_scan.h"
#include "base/checked.h"
#include "base/error.h"
#include "format/gguf_value.h"
#include <string.h>

/* Bytes of the smallest possible entry. A count is checked against the rest of the file with
 * them. */
enum { MIN_KV = 8 + 1 + 4 + 1, MIN_TENSOR = 8 + 1 + 4 + 8 + 4 + 8, WINDOW = 8192 };

struct cursor {
    const struct qr_file *file;
    uint64_t pos;
    uint64_t window_at;
    size_t window_bytes;
    struct quire_error *err;
    uint8_t window[WINDOW];
};

static uint64_t left(const struct cursor *c) { return c->file->size - c->pos; }

static quire_status ends_inside(const struct cursor *c, const char *what)
{
    return qr_fail_at(c->err, QUIRE_E_FORMAT, c->pos, "file ends inside %s at byte %llu", what,
                      (unsigned long long)c->file->size);
}

/* Reads n <= 8 bytes. `what` names the field in messages, here and below. */
static quire_status read_bytes(struct cursor *c, const char *what, void *dst, size_t n)
{
    if (left(c) < n)
        return ends_inside(c, what);
    if (c->pos + n > c->window_at + c->window_bytes) { /* the position only grows */
        const size_t want = left(c) < WINDOW ? (size_t)left(c) : WINDOW;
        c->window_bytes = 0;
        QR_TRY(qr_file_read(c->file, c->pos, c->window, want, c->err));
        c->window_at = c->pos;
        c->window_bytes = want;
    }
    memcpy(dst, c->window + (c->pos - c->window_at), n);
    c->pos += n;
    return QUIRE_OK;
}

static quire_status skip(struct cursor *c, const char *what, uint64_t n)
{
    if (left(c) < n)
        return ends_inside(c, what);
    c->pos += n;
    return QUIRE_OK;
}

/* Skips a length-prefixed string. */
static quire_status scan_string(struct cursor *c, const char *what, uint64_t max, uint64_t *len)
{
    const uint64_t at = c->pos;
    QR_TRY(read_bytes(c, what, len, sizeof *len));
    if (*len > left(c))
        return qr_fail_at(
            c->err, QUIRE_E_FORMAT, at, "length %llu of %s at byte %llu: only %llu bytes are left",
            (unsigned long long)*len, what, (unsigned long long)at, (unsigned long long)left(c));
    if (*len > max)
        return qr_fail_at(
            c->err, QUIRE_E_FORMAT, at, "length %llu of %s at byte %llu, at most %llu allowed",
            (unsigned long long)*len, what, (unsigned long long)at, (unsigned long long)max);
    return skip(c, what, *len);
}

static quire_status scan_array(struct cursor *c, struct qr_gguf_counts *counts)
{
    const uint64_t at = c->pos;
    uint32_t elem;
    uint64_t count, len, bytes;
    QR_TRY(read_bytes(c, "an array's element type", &elem, sizeof elem));
    if (elem == QR_GGUF_ARRAY || elem >= QR_GGUF_N_TYPES)
        return qr_fail_at(
            c->err, QUIRE_E_FORMAT, at, "array with element type %u (%s) at byte %llu", elem,
            elem == QR_GGUF_ARRAY ? "arrays cannot be nested" : "unknown", (unsigned long long)at);
    QR_TRY(read_bytes(c, "an array's length", &count, sizeof count));
    const size_t size = qr_gguf_value_bytes(elem);
    if (!qr_mul_u64(count, size ? size : 8, &bytes) || bytes > left(c))
        return qr_fail_at(c->err, QUIRE_E_FORMAT, at,
                          "array of %llu elements at byte %llu: only %llu bytes are left",
                          (unsigned long long)count, (unsigned long long)at,
                          (unsigned long long)left(c));
    if (size)
        return skip(c, "an array", bytes);
    counts->n_strings += count; /* cannot overflow: each string takes 8 bytes of the file */
    for (uint64_t i = 0; i < count; i++)
        QR_TRY(scan_string(c, "a string in an array", UINT64_MAX, &len));
    return QUIRE_OK;
}

static quire_status scan_kv(struct cursor *c, struct qr_gguf_counts *counts)
{
    uint64_t len;
    uint32_t type;
    QR_TRY(scan_string(c, "a metadata key", QR_GGUF_MAX_KEY_BYTES, &len));
    const uint64_t at = c->pos;
    QR_TRY(read_bytes(c, "a value type", &type, sizeof type));
    if (type == QR_GGUF_STRING)
        return scan_string(c, "a metadata string", UINT64_MAX, &len);
    if (type == QR_GGUF_ARRAY)
        return scan_array(c, counts);
    const size_t size = qr_gguf_value_bytes(type);
    if (size == 0)
        return qr_fail_at(c->err, QUIRE_E_FORMAT, at, "unknown metadata value type %u at byte %llu",
                          type, (unsigned long long)at);
    return skip(c, "a metadata value", size);
}

static quire_status scan_tensor(struct cursor *c, struct qr_gguf_counts *counts)
{
    uint64_t len;
    uint32_t n_dims;
    QR_TRY(scan_string(c, "a tensor name", QR_GGUF_MAX_NAME_BYTES, &len));
    counts->names_bytes += len + 1;
    const uint64_t at = c->pos;
    QR_TRY(read_bytes(c, "a tensor's dimension count", &n_dims, sizeof n_dims));
    if (n_dims < 1 || n_dims > 4)
        return qr_fail_at(c->err, QUIRE_E_FORMAT, at,
                          "tensor with %u dimensions at byte %llu, 1 to 4 allowed", n_dims,
                          (unsigned long long)at);
    return skip(c, "a tensor info", 8ull * n_dims + 4 + 8);
}

static quire_status scan_version(struct cursor *c, struct qr_gguf_counts *counts)
{
    uint8_t magic[4];
    QR_TRY(read_bytes(c, "the magic number", magic, sizeof magic));
    if (memcmp(magic, "GGUF", 4) != 0)
        return qr_fail_at(c->err, QUIRE_E_FORMAT, 0,
                          "not a GGUF file: it begins with bytes %02x %02x %02x %02x", magic[0],
                          magic[1], magic[2], magic[3]);
    QR_TRY(read_bytes(c, "the version", &counts->version, sizeof counts->version));
    const uint32_t v = counts->version;
    if (v == 2 || v == 3)
        return QUIRE_OK;
    if (v != 0 && (v & 0xffff) == 0)
        return qr_fail_at(c->err, QUIRE_E_UNSUPPORTED, 4,
                          "big-endian GGUF files are not supported");
    return qr_fail_at(c->err, QUIRE_E_UNSUPPORTED, 4,
                      "GGUF version %u is not supported, only 2 and 3", v);
}

static quire_status scan_count(struct cursor *c, const char *what, uint64_t min_bytes,
                               uint64_t *count)
{
    const uint64_t at = c->pos;
    QR_TRY(read_bytes(c, what, count, sizeof *count));
    uint64_t bytes;
    if (!qr_mul_u64(*count, min_bytes, &bytes) || bytes > left(c))
        return qr_fail_at(c->err, QUIRE_E_LIMIT, at,
                          "%s is %llu, which cannot fit in a file of %llu bytes", what,
                          (unsigned long long)*count, (unsigned long long)c->file->size);
    return QUIRE_OK;
}

quire_status qr_gguf_scan(const struct qr_file *f, struct qr_gguf_counts *counts,
                          struct quire_error *err)
{
    struct cursor c;
    c.file = f;
    c.pos = c.window_at = 0;
    c.window_bytes = 0;
    c.err = err;
    *counts = (struct qr_gguf_counts){ 0 };
    QR_TRY(scan_version(&c, counts));
    QR_TRY(scan_count(&c, "the tensor count", MIN_TENSOR, &counts->n_tensors));
    QR_TRY(scan_count(&c, "the metadata count", MIN_KV, &counts->n_kv));
    for (uint64_t i = 0; i < counts->n_kv && c.pos <= QR_GGUF_MAX_HEADER_BYTES; i++)
        QR_TRY(scan_kv(&c, counts));
    for (uint64_t i = 0; i < counts->n_tensors && c.pos <= QR_GGUF_MAX_HEADER_BYTES; i++)
        QR_TRY(scan_tensor(&c, counts));
    if (c.pos > QR_GGUF_MAX_HEADER_BYTES)
        return qr_fail_at(err, QUIRE_E_LIMIT, QR_GGUF_MAX_HEADER_BYTES,
                          "the GGUF header is larger than %llu bytes",
                          (unsigned long long)QR_GGUF_MAX_HEADER_BYTES);
    counts->header_bytes = c.pos;
    return QUIRE_OK;
}
