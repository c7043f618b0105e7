/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - opens and closes GGUF models of one or several files, and reads tensor data. */
#include "format/gguf.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "format/gguf_meta.h"
#include "format/gguf_parse.h"
#include "format/gguf_scan.h"
#include "format/gguf_tensors.h"
#include "format/types.h"
#include <stdio.h>
#include <string.h>

/* Parses the header of g's last shard. On success the caller owns *meta. */
static quire_status load_shard(struct qr_gguf *g, struct qr_gguf_meta *meta,
                               struct quire_error *err)
{
    const struct qr_file *f = &g->shards[g->n_shards - 1].file;
    struct qr_gguf_counts counts;
    size_t tensors_at;
    QR_TRY(qr_gguf_scan(f, &counts, err));
    QR_TRY(qr_gguf_parse_meta(f, &counts, g->allocator, meta, &tensors_at, err));
    const quire_status s = qr_gguf_parse_tensors(g, meta, &counts, tensors_at, err);
    if (s != QUIRE_OK)
        qr_gguf_meta_free(meta, g->allocator);
    return s;
}

static quire_status add_shard(struct qr_gguf *g, const char *path, struct qr_gguf_meta *meta,
                              struct quire_error *err)
{
    struct qr_gguf_shard *shard = &g->shards[g->n_shards];
    QR_TRY(qr_file_open(&shard->file, path, err));
    g->n_shards++;
    return load_shard(g, meta, err);
}

static quire_status alloc_shards(struct qr_gguf *g, size_t n, struct quire_error *err)
{
    g->shards = qr_calloc(g->allocator, n, sizeof *g->shards);
    if (!g->shards)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %zu files", n);
    g->shard_cap = n;
    return QUIRE_OK;
}

/* Frees everything except the object itself. */
static void reset(struct qr_gguf *g)
{
    for (size_t i = 0; i < g->n_shards; i++) {
        qr_file_close(&g->shards[i].file);
        qr_free(g->allocator, g->shards[i].names, g->shards[i].names_bytes, 1);
    }
    qr_free(g->allocator, g->shards, g->shard_cap, sizeof *g->shards);
    qr_gguf_meta_free(&g->meta, g->allocator);
    qr_free(g->allocator, g->tensors, g->tensor_cap, sizeof *g->tensors);
    qr_name_index_free(&g->tensor_index, g->allocator);
    *g = (struct qr_gguf){ .allocator = g->allocator };
}

/* ---- Split models: shards NAME-00001-of-00003.gguf */

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

/* Finds the suffix of a shard's path and the two numbers in it; NULL if the name has another
 * form. */
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

/* Prefixes an error message with the file name. */
static void prefix_file_name(struct quire_error *err, const char *path)
{
    if (!err || err->struct_size < sizeof *err)
        return;
    char msg[sizeof err->msg];
    memcpy(msg, err->msg, sizeof msg);
    snprintf(err->msg, sizeof err->msg, "%.60s: %.170s", qr_path_base(path), msg);
}

static quire_status check_split(const struct qr_gguf_meta *meta, uint32_t no, uint32_t count,
                                struct quire_error *err)
{
    uint32_t file_no, file_count;
    QR_TRY(qr_gguf_meta_u32_or(meta, "split.no", UINT32_MAX, &file_no, err));
    QR_TRY(qr_gguf_meta_u32_or(meta, "split.count", 0, &file_count, err));
    if (file_no != no || file_count != count)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "metadata says split.no %u, split.count %u; the file name says %u, %u",
                       file_no, file_count, no, count);
    return QUIRE_OK;
}

/* Opens the shards after the first; suffix points into path. */
static quire_status open_other_shards(struct qr_gguf *g, char *path, char *suffix, uint32_t count,
                                      struct quire_error *err)
{
    uint32_t n_tensors;
    for (uint32_t no = 2; no <= count; no++) {
        struct qr_gguf_meta meta;
        set_split_no(suffix, no);
        quire_status s = add_shard(g, path, &meta, err);
        if (s == QUIRE_OK) {
            s = check_split(&meta, no - 1, count, err);
            qr_gguf_meta_free(&meta, g->allocator);
        }
        if (s != QUIRE_OK) {
            prefix_file_name(err, path);
            return s;
        }
    }
    QR_TRY(qr_gguf_meta_u32_or(&g->meta, "split.tensors.count", (uint32_t)g->n_tensors, &n_tensors,
                               err));
    if (n_tensors != g->n_tensors)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "split.tensors.count is %u, the %u shards contain %zu tensors", n_tensors,
                       count, g->n_tensors);
    return QUIRE_OK;
}

/* Opens path and, if it is a shard of a split model, all shards. path is overwritten. */
static quire_status open_shards(struct qr_gguf *g, char *path, struct quire_error *err)
{
    uint32_t no, count, name_count;
    QR_TRY(alloc_shards(g, 1, err));
    QR_TRY(add_shard(g, path, &g->meta, err));
    QR_TRY(qr_gguf_meta_u32_or(&g->meta, "split.count", 1, &count, err));
    if (count <= 1)
        return QUIRE_OK;
    if (count > QR_GGUF_MAX_SHARDS)
        return qr_fail(err, QUIRE_E_LIMIT, "split.count is %u, at most %d shards are supported",
                       count, QR_GGUF_MAX_SHARDS);
    char *suffix = split_suffix(path, &no, &name_count);
    if (!suffix || no < 1 || no > count || name_count != count)
        return qr_fail(
            err, QUIRE_E_FORMAT,
            "split.count is %u, so the file name must be NAME-00001-of-%05u.gguf, not %s", count,
            count, qr_path_base(path));
    reset(g);
    QR_TRY(alloc_shards(g, count, err));
    set_split_no(suffix, 1);
    quire_status s = add_shard(g, path, &g->meta, err);
    if (s == QUIRE_OK)
        s = check_split(&g->meta, 0, count, err);
    if (s != QUIRE_OK) {
        prefix_file_name(err, path);
        return s;
    }
    return open_other_shards(g, path, suffix, count, err);
}

/* ---- Opening */

static const char *tensor_name(const void *owner, uint32_t i, size_t *len)
{
    const struct qr_gguf_tensor *tensors = owner;
    *len = tensors[i].name_len;
    return tensors[i].name;
}

/* Fills tensor_index; a duplicate name, also across shards, is QUIRE_E_FORMAT. */
static quire_status index_tensors(struct qr_gguf *g, struct quire_error *err)
{
    if (!qr_name_index_init(&g->tensor_index, g->n_tensors, g->allocator))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to index %zu tensors", g->n_tensors);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (qr_name_index_add(&g->tensor_index, g->tensors, tensor_name, i) != i)
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %s appears twice", g->tensors[i].name);
    return QUIRE_OK;
}

static quire_status finish(struct qr_gguf *g, quire_status s, const struct quire_logger *log,
                           const char *name, struct qr_gguf **out, struct quire_error *err)
{
    if (s == QUIRE_OK)
        s = index_tensors(g, err);
    if (s != QUIRE_OK) {
        qr_gguf_close(g);
        return s;
    }
    if (g->trailing_bytes)
        qr_log(log, QUIRE_LOG_WARN, "%s: %llu bytes after the last tensor are ignored", name,
               (unsigned long long)g->trailing_bytes);
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
        finish(g, open_shards(g, scratch, err), log, qr_path_base(path), out, err);
    qr_strfree(a, scratch);
    return s;
}

static quire_status open_image(struct qr_gguf *g, const void *data, size_t size,
                               struct quire_error *err)
{
    uint32_t count;
    QR_TRY(alloc_shards(g, 1, err));
    qr_file_from_memory(&g->shards[0].file, data, size);
    g->n_shards = 1;
    QR_TRY(load_shard(g, &g->meta, err));
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
    return i < g->n_shards ? &g->shards[i].file : NULL;
}

/* ---- Tensors */

uint64_t qr_gguf_trailing_bytes(const struct qr_gguf *g) { return g->trailing_bytes; }

size_t qr_gguf_tensor_count(const struct qr_gguf *g) { return g->n_tensors; }

const struct qr_gguf_tensor *qr_gguf_tensor(const struct qr_gguf *g, size_t i)
{
    return i < g->n_tensors ? &g->tensors[i] : NULL;
}

bool qr_gguf_find_tensor(const struct qr_gguf *g, const char *name, size_t *index)
{
    uint32_t i;
    if (!qr_name_index_find(&g->tensor_index, g->tensors, tensor_name, name, strlen(name), &i))
        return false;
    *index = i;
    return true;
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
                       "tensor %s: %llu bytes at offset %llu requested, it has %llu", t->name,
                       (unsigned long long)bytes, (unsigned long long)begin,
                       (unsigned long long)t->bytes);
    return qr_file_read(&g->shards[t->shard].file, t->offset + begin, dst, bytes, err);
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
