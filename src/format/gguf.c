/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - opening and closing GGUF models of one or several files, and reading tensor data. */
#include "format/gguf.h"
#include "base/checked.h"
#include "base/error.h"
#include "format/gguf_internal.h"
#include <stdio.h>
#include <string.h>

/* Parses the header of g's last part. *meta is the caller's to free on success. */
static quire_status load_part(struct qr_gguf *g, struct gguf_meta *meta, struct quire_error *err)
{
    const struct qr_file *f = &g->parts[g->n_parts - 1].file;
    struct gguf_shape shape;
    size_t tensors_at;
    QR_TRY(qr_gguf_scan(f, &shape, err));
    QR_TRY(qr_gguf_parse_meta(f, &shape, g->allocator, meta, &tensors_at, err));
    const quire_status s = qr_gguf_parse_tensors(g, meta, &shape, tensors_at, err);
    if (s != QUIRE_OK)
        qr_gguf_meta_free(meta, g->allocator);
    return s;
}

static quire_status add_part(struct qr_gguf *g, const char *path, struct gguf_meta *meta,
                             struct quire_error *err)
{
    struct gguf_part *part = &g->parts[g->n_parts];
    QR_TRY(qr_file_open(&part->file, path, err));
    g->n_parts++;
    return load_part(g, meta, err);
}

static quire_status alloc_parts(struct qr_gguf *g, size_t n, struct quire_error *err)
{
    g->parts = qr_calloc(g->allocator, n, sizeof *g->parts);
    if (!g->parts)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %zu files", n);
    g->part_cap = n;
    return QUIRE_OK;
}

/* Closes everything but the object itself. */
static void reset(struct qr_gguf *g)
{
    for (size_t i = 0; i < g->n_parts; i++) {
        qr_file_close(&g->parts[i].file);
        qr_free(g->allocator, g->parts[i].names, g->parts[i].names_bytes, 1);
    }
    qr_free(g->allocator, g->parts, g->part_cap, sizeof *g->parts);
    qr_gguf_meta_free(&g->meta, g->allocator);
    qr_free(g->allocator, g->tensors, g->tensor_cap, sizeof *g->tensors);
    qr_name_index_free(&g->tensor_index, g->allocator);
    *g = (struct qr_gguf){ .allocator = g->allocator };
}

/* ---- Split models: NAME-00001-of-00003.gguf */

enum { SUFFIX = sizeof "-00001-of-00003.gguf" - 1, NO_AT = 1, COUNT_AT = 10 };

static bool five_digits(const char *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 5; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *value = *value * 10 + (uint32_t)(s[i] - '0');
    }
    return true;
}

/* The suffix of a split file's path and the two numbers in it; NULL when the name is not of that form. */
static char *split_suffix(char *path, uint32_t *no, uint32_t *count)
{
    const size_t n = strlen(path);
    if (n < SUFFIX)
        return NULL;
    char *s = path + n - SUFFIX;
    const bool ok = s[0] == '-' && memcmp(s + 6, "-of-", 4) == 0 &&
                    memcmp(s + 15, ".gguf", 5) == 0 && five_digits(s + NO_AT, no) &&
                    five_digits(s + COUNT_AT, count);
    return ok ? s : NULL;
}

static void set_split_no(char *suffix, uint32_t no)
{
    for (int i = 4; i >= 0; i--, no /= 10)
        suffix[NO_AT + i] = (char)('0' + no % 10);
}

/* Puts the file's name before the message of a failure inside it. */
static void name_file(struct quire_error *err, const char *path)
{
    if (!qr_error_writable(err))
        return;
    char msg[sizeof err->msg];
    memcpy(msg, err->msg, sizeof msg);
    snprintf(err->msg, sizeof err->msg, "%.60s: %.170s", qr_path_base(path), msg);
}

static quire_status check_split(const struct gguf_meta *meta, uint32_t no, uint32_t count,
                                struct quire_error *err)
{
    uint32_t file_no, file_count;
    QR_TRY(qr_gguf_meta_u32_or(meta, "split.no", UINT32_MAX, &file_no, err));
    QR_TRY(qr_gguf_meta_u32_or(meta, "split.count", 0, &file_count, err));
    if (file_no != no || file_count != count)
        return qr_fail(
            err, QUIRE_E_FORMAT,
            "the file calls itself split.no %u, split.count %u; its name and place say %u, %u",
            file_no, file_count, no, count);
    return QUIRE_OK;
}

/* Opens the files after the first; suffix points into path. */
static quire_status open_rest(struct qr_gguf *g, char *path, char *suffix, uint32_t count,
                              struct quire_error *err)
{
    uint32_t n_tensors;
    for (uint32_t no = 2; no <= count; no++) {
        struct gguf_meta meta;
        set_split_no(suffix, no);
        quire_status s = add_part(g, path, &meta, err);
        if (s == QUIRE_OK) {
            s = check_split(&meta, no - 1, count, err);
            qr_gguf_meta_free(&meta, g->allocator);
        }
        if (s != QUIRE_OK) {
            name_file(err, path);
            return s;
        }
    }
    QR_TRY(qr_gguf_meta_u32_or(&g->meta, "split.tensors.count", (uint32_t)g->n_tensors, &n_tensors,
                               err));
    if (n_tensors != g->n_tensors)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "split.tensors.count is %u, the %u files hold %zu tensors", n_tensors, count,
                       g->n_tensors);
    return QUIRE_OK;
}

/* Opens path and, when it belongs to a split model, all files of that. path is scratch. */
static quire_status open_files(struct qr_gguf *g, char *path, struct quire_error *err)
{
    uint32_t no, count, name_count;
    QR_TRY(alloc_parts(g, 1, err));
    QR_TRY(add_part(g, path, &g->meta, err));
    QR_TRY(qr_gguf_meta_u32_or(&g->meta, "split.count", 1, &count, err));
    if (count <= 1)
        return QUIRE_OK;
    if (count > GGUF_MAX_FILES)
        return qr_fail(err, QUIRE_E_LIMIT, "split.count is %u, at most %d files are opened", count,
                       GGUF_MAX_FILES);
    char *suffix = split_suffix(path, &no, &name_count);
    if (!suffix || no < 1 || no > count || name_count != count)
        return qr_fail(
            err, QUIRE_E_FORMAT,
            "split.count is %u, so the file must be called NAME-00001-of-%05u.gguf, not %s", count,
            count, qr_path_base(path));
    reset(g);
    QR_TRY(alloc_parts(g, count, err));
    set_split_no(suffix, 1);
    quire_status s = add_part(g, path, &g->meta, err);
    if (s == QUIRE_OK)
        s = check_split(&g->meta, 0, count, err);
    if (s != QUIRE_OK) {
        name_file(err, path);
        return s;
    }
    return open_rest(g, path, suffix, count, err);
}

/* ---- Opening */

static quire_status finish(struct qr_gguf *g, quire_status s, const struct quire_logger *log,
                           const char *name, struct qr_gguf **out, struct quire_error *err)
{
    if (s == QUIRE_OK)
        s = qr_gguf_index_tensors(g, err);
    if (s != QUIRE_OK) {
        qr_gguf_close(g);
        return s;
    }
    if (g->trailing)
        qr_log(log, QUIRE_LOG_WARN, "%s: %llu bytes behind the last tensor are ignored", name,
               (unsigned long long)g->trailing);
    *out = g;
    return QUIRE_OK;
}

static struct qr_gguf *new_gguf(const struct quire_allocator *a)
{
    struct qr_gguf *g = qr_calloc(a, 1, sizeof *g);
    if (g)
        g->allocator = a;
    return g;
}

quire_status qr_gguf_open(const char *path, const struct quire_allocator *a,
                          const struct quire_logger *log, struct qr_gguf **out,
                          struct quire_error *err)
{
    *out = NULL;
    char *scratch = qr_strdup(a, path);
    struct qr_gguf *g = new_gguf(a);
    if (!scratch || !g) {
        qr_strfree(a, scratch);
        qr_gguf_close(g);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open a GGUF file");
    }
    const quire_status s =
        finish(g, open_files(g, scratch, err), log, qr_path_base(path), out, err);
    qr_strfree(a, scratch);
    return s;
}

static quire_status open_image(struct qr_gguf *g, const void *data, size_t size,
                               struct quire_error *err)
{
    uint32_t count;
    QR_TRY(alloc_parts(g, 1, err));
    qr_file_from_memory(&g->parts[0].file, data, size);
    g->n_parts = 1;
    QR_TRY(load_part(g, &g->meta, err));
    QR_TRY(qr_gguf_meta_u32_or(&g->meta, "split.count", 1, &count, err));
    if (count > 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "split.count is %u: a split model cannot be opened from memory", count);
    return QUIRE_OK;
}

quire_status qr_gguf_open_memory(const void *data, size_t size, const struct quire_allocator *a,
                                 const struct quire_logger *log, struct qr_gguf **out,
                                 struct quire_error *err)
{
    *out = NULL;
    struct qr_gguf *g = new_gguf(a);
    if (!g)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open a GGUF image");
    return finish(g, open_image(g, data, size, err), log, "GGUF image", out, err);
}

void qr_gguf_close(struct qr_gguf *g)
{
    if (!g)
        return;
    reset(g);
    qr_free(g->allocator, g, 1, sizeof *g);
}

const struct qr_file *qr_gguf_file(const struct qr_gguf *g, size_t i)
{
    return i < g->n_parts ? &g->parts[i].file : NULL;
}

/* ---- Tensors */

uint64_t qr_gguf_trailing_bytes(const struct qr_gguf *g) { return g->trailing; }

size_t qr_gguf_tensor_count(const struct qr_gguf *g) { return g->n_tensors; }

const struct qr_gguf_tensor *qr_gguf_tensor(const struct qr_gguf *g, size_t i)
{
    return i < g->n_tensors ? &g->tensors[i] : NULL;
}

quire_status qr_gguf_read_range(const struct qr_gguf *g, size_t i, uint64_t begin, uint64_t bytes,
                                void *dst, struct quire_error *err)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(g, i);
    uint64_t end;
    if (!t)
        return qr_fail(err, QUIRE_E_RANGE, "tensor number %zu of %zu", i, g->n_tensors);
    if (!qr_add_u64(begin, bytes, &end) || end > t->bytes)
        return qr_fail(err, QUIRE_E_RANGE,
                       "tensor %s: %llu bytes from byte %llu asked for, it has %llu", t->name,
                       (unsigned long long)bytes, (unsigned long long)begin,
                       (unsigned long long)t->bytes);
    return qr_file_read(&g->parts[t->file].file, t->offset + begin, dst, bytes, err);
}

quire_status qr_gguf_read_tensor(const struct qr_gguf *g, size_t i, void *dst, uint64_t bytes,
                                 struct quire_error *err)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(g, i);
    if (t && bytes != t->bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tensor %s has %llu bytes, the buffer %llu",
                       t->name, (unsigned long long)t->bytes, (unsigned long long)bytes);
    return qr_gguf_read_range(g, i, 0, bytes, dst, err);
}

const void *qr_gguf_tensor_data(const struct qr_gguf *g, size_t i)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(g, i);
    const uint8_t *data = t ? g->parts[t->file].file.data : NULL;
    return data ? data + t->offset : NULL;
}
