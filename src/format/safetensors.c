/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - opens safetensors files and directories, checks the layout, reads ranges. */
#include "format/safetensors.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/reader.h"
#include "format/json.h"
#include "format/safetensors_header.h"
#include "format/types.h"
#include <string.h>

#define MAX_HEADER_BYTES 100000000u /* limit of the reference implementation */
enum { MAX_SHARDS = 1024, MAX_INDEX_BYTES = 64 << 20 };

/* ---- One file */

static quire_status load_header(struct qr_safetensors_shard *f, const struct quire_allocator *a,
                                struct quire_error *err)
{
    uint64_t n = 0;
    if (f->file.size < sizeof n)
        return qr_fail_at(err, QUIRE_E_FORMAT, f->file.size,
                          "safetensors file of %llu bytes has no header",
                          (unsigned long long)f->file.size);
    uint8_t bytes[sizeof n];
    /* GCOVR_EXCL_BR_LINE: an I/O error, of which faults tries a sample. */
    QR_TRY(qr_file_read(&f->file, 0, bytes, sizeof bytes, err));
    struct qr_reader r = { bytes, sizeof bytes, 0 };
    /* GCOVR_EXCL_BR_LINE: the reader holds the eight bytes of the number. */
    if (!qr_read_u64(&r, &n) || n == 0 || n > f->file.size - sizeof bytes)
        return qr_fail_at(err, QUIRE_E_FORMAT, 0,
                          "safetensors header length %llu in a file of %llu bytes",
                          (unsigned long long)n, (unsigned long long)f->file.size);
    if (n > MAX_HEADER_BYTES)
        return qr_fail_at(err, QUIRE_E_LIMIT, 0,
                          "safetensors header of %llu bytes, at most %u allowed",
                          (unsigned long long)n, MAX_HEADER_BYTES);
    f->header_bytes = (size_t)n;
    f->header = qr_alloc(a, f->header_bytes, 1);
    if (!f->header)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a safetensors header of %zu bytes",
                       f->header_bytes);
    return qr_file_read(&f->file, sizeof bytes, f->header, n, err);
}

/* Heap sort by offset: in place, n log n in the worst case. Most files are sorted already. */
static void sift_down(struct qr_safetensor *t, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && t[child].offset < t[child + 1].offset)
            child++;
        if (t[root].offset >= t[child].offset)
            return;
        const struct qr_safetensor swap = t[root];
        t[root] = t[child];
        t[child] = swap;
    }
}

static void sort_by_offset(struct qr_safetensor *t, size_t n)
{
    size_t i = 1;
    while (i < n && t[i - 1].offset < t[i].offset)
        i++;
    if (i >= n)
        return;
    for (i = n / 2; i-- > 0;)
        sift_down(t, i, n);
    for (i = n; i-- > 1;) {
        const struct qr_safetensor swap = t[0];
        t[0] = t[i];
        t[i] = swap;
        sift_down(t, 0, i);
    }
}

/* Tensor data must fill the file after the header without gaps or overlap. */
static quire_status check_layout(struct qr_safetensor *t, size_t n,
                                 const struct qr_safetensors_shard *f, struct quire_error *err)
{
    const uint64_t data_at = 8 + (uint64_t)f->header_bytes;
    uint64_t end = 0;
    sort_by_offset(t, n);
    for (size_t i = 0; i < n; i++) {
        if (t[i].offset != end)
            return qr_fail_at(err, QUIRE_E_FORMAT, data_at + end,
                              "tensor %.80s begins at data byte %llu, expected %llu", t[i].name,
                              (unsigned long long)t[i].offset, (unsigned long long)end);
        /* GCOVR_EXCL_BR_LINE: the sum is the tensor's second offset, which has 64 bits. */
        if (!qr_add_u64(end, t[i].bytes, &end) || end > f->file.size - data_at)
            return qr_fail_at(err, QUIRE_E_FORMAT, data_at + t[i].offset,
                              "tensor %.80s exceeds the file size of %llu bytes", t[i].name,
                              (unsigned long long)f->file.size);
        t[i].offset += data_at;
    }
    if (end != f->file.size - data_at)
        return qr_fail_at(err, QUIRE_E_FORMAT, data_at + end, "%llu bytes after the last tensor",
                          (unsigned long long)(f->file.size - data_at - end));
    return QUIRE_OK;
}

/* Control characters are rejected because names are printed in messages and on terminals. */
static quire_status check_name(const struct qr_safetensor *t, struct quire_error *err)
{
    for (uint32_t i = 0; i < t->name_len; i++)
        if ((uint8_t)t->name[i] < 0x20 || t->name[i] == 0x7f)
            return qr_fail(err, QUIRE_E_FORMAT, "a tensor name contains control character 0x%02x",
                           (uint8_t)t->name[i]);
    return QUIRE_OK;
}

static bool grow_tensors(struct qr_safetensors *s, size_t n)
{
    size_t total;
    /* GCOVR_EXCL_BR_LINE: headers of at most 100 MB hold fewer tensors. */
    if (!qr_add_size(s->n_tensors, n, &total) || total >= UINT32_MAX)
        return false;
    struct qr_safetensor *grown = qr_alloc(s->allocator, total, sizeof *grown);
    if (!grown)
        return false;
    if (s->n_tensors)
        memcpy(grown, s->tensors, s->n_tensors * sizeof *grown);
    qr_free(s->allocator, s->tensors, s->tensor_cap, sizeof *s->tensors);
    s->tensors = grown;
    s->tensor_cap = total;
    return true;
}

static quire_status add_shard(struct qr_safetensors *s, const char *path, struct quire_error *err)
{
    struct qr_safetensors_shard *shard = &s->shards[s->n_shards];
    QR_TRY(qr_file_open(&shard->file, path, err));
    s->n_shards++;
    QR_TRY(load_header(shard, s->allocator, err));
    size_t n;
    QR_TRY(qr_safetensors_parse(shard->header, shard->header_bytes, NULL, &n, err));
    if (!grow_tensors(s, n))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu tensor infos", n);
    struct qr_safetensor *t = s->tensors + s->n_tensors;
    /* GCOVR_EXCL_BR_LINE: the header was parsed before. */
    QR_TRY(qr_safetensors_parse(shard->header, shard->header_bytes, t, &n, err));
    for (size_t i = 0; i < n; i++) {
        t[i].shard = (uint16_t)(s->n_shards - 1);
        QR_TRY(check_name(&t[i], err));
    }
    QR_TRY(check_layout(t, n, shard, err));
    s->n_tensors += n;
    return QUIRE_OK;
}

static const char *tensor_name(const void *owner, uint32_t i, size_t *len)
{
    const struct qr_safetensor *t = (const struct qr_safetensor *)owner + i;
    *len = t->name_len;
    return t->name;
}

static quire_status index_tensors(struct qr_safetensors *s, struct quire_error *err)
{
    if (!qr_name_index_init(&s->index, s->n_tensors, s->allocator))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to index %zu tensors", s->n_tensors);
    for (uint32_t i = 0; i < s->n_tensors; i++)
        if (qr_name_index_add(&s->index, s->tensors, tensor_name, i) != i)
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s appears twice", s->tensors[i].name);
    return QUIRE_OK;
}

static struct qr_safetensors *new_set(const struct quire_allocator *a, size_t n_shards)
{
    struct qr_safetensors *s = qr_calloc(a, 1, sizeof *s);
    if (!s)
        return NULL;
    s->allocator = a;
    s->shard_cap = n_shards;
    s->shards = qr_calloc(a, n_shards, sizeof *s->shards);
    if (s->shards)
        return s;
    qr_free(a, s, 1, sizeof *s);
    return NULL;
}

void qr_safetensors_close(struct qr_safetensors *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->shard_cap; i++) {
        qr_file_close(&s->shards[i].file);
        qr_free(s->allocator, s->shards[i].header, s->shards[i].header_bytes, 1);
        qr_strfree(s->allocator, s->shards[i].name);
    }
    qr_free(s->allocator, s->shards, s->shard_cap, sizeof *s->shards);
    qr_free(s->allocator, s->tensors, s->tensor_cap, sizeof *s->tensors);
    qr_name_index_free(&s->index, s->allocator);
    qr_free(s->allocator, s, 1, sizeof *s);
}

const struct qr_file *qr_safetensors_file(const struct qr_safetensors *s, size_t i)
{
    return i < s->n_shards ? &s->shards[i].file : NULL;
}

static quire_status finish(struct qr_safetensors *s, quire_status status,
                           struct qr_safetensors **out, struct quire_error *err)
{
    if (status == QUIRE_OK)
        status = index_tensors(s, err);
    if (status == QUIRE_OK)
        *out = s;
    else
        qr_safetensors_close(s);
    return status;
}

quire_status qr_safetensors_open(const char *path, const struct quire_allocator *a,
                                 struct qr_safetensors **out, struct quire_error *err)
{
    *out = NULL;
    struct qr_safetensors *s = new_set(a, 1);
    if (!s)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", qr_path_base(path));
    return finish(s, add_shard(s, path, err), out, err);
}

/* ---- Directories */

/* An index may only name files in its own directory. */
static bool plain_name(const char *s)
{
    const size_t n = strlen(s);
    static const char suffix[] = ".safetensors";
    return n > sizeof suffix - 1 && n < 256 && s[0] != '.' && !strchr(s, '/') && !strchr(s, '\\') &&
           strcmp(s + n - (sizeof suffix - 1), suffix) == 0;
}

static quire_status add_named_shard(struct qr_safetensors *s, const char *dir, const char *name,
                                    struct quire_error *err)
{
    char *path = qr_path_join(s->allocator, dir, name);
    char *copy = qr_strdup(s->allocator, name);
    if (!path || !copy) {
        qr_strfree(s->allocator, path);
        qr_strfree(s->allocator, copy);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", name);
    }
    s->shards[s->n_shards].name = copy;
    const quire_status status = add_shard(s, path, err);
    qr_strfree(s->allocator, path);
    return status;
}

/* Returns the index of the shard with that file name, n_shards if it is not open yet. Searches
 * backwards because consecutive tensors mostly share a shard. */
static size_t find_shard(const struct qr_safetensors *s, const char *name)
{
    for (size_t i = s->n_shards; i-- > 0;)
        if (strcmp(s->shards[i].name, name) == 0)
            return i;
    return s->n_shards;
}

static quire_status open_indexed(struct qr_safetensors *s, const char *dir,
                                 const struct qr_json *map, struct quire_error *err)
{
    for (struct qr_json_iter m = qr_json_iterate(map); qr_json_next(&m);) {
        const char *name = qr_json_string(m.value);
        if (!name || !plain_name(name))
            return qr_fail(
                err, QUIRE_E_FORMAT,
                "weight_map: %.80s must name a .safetensors file in the same directory, not %.60s",
                m.key, name ? name : "a value that is not a string");
        if (find_shard(s, name) < s->n_shards)
            continue;
        if (s->n_shards == s->shard_cap)
            return qr_fail(err, QUIRE_E_LIMIT, "weight_map names more than %zu files",
                           s->shard_cap);
        QR_TRY(add_named_shard(s, dir, name, err));
    }
    QR_TRY(index_tensors(s, err));
    for (struct qr_json_iter m = qr_json_iterate(map); qr_json_next(&m);) {
        size_t i;
        if (!qr_safetensors_find(s, m.key, &i) ||
            s->tensors[i].shard != find_shard(s, qr_json_string(m.value)))
            return qr_fail(err, QUIRE_E_FORMAT, "weight_map: tensor %.80s is not in %.60s", m.key,
                           qr_json_string(m.value));
    }
    return QUIRE_OK;
}

static quire_status open_sharded(const char *dir, const char *index_path,
                                 const struct quire_allocator *a, struct qr_safetensors **out,
                                 struct quire_error *err)
{
    char *text;
    size_t size;
    struct qr_json *index;
    QR_TRY(qr_file_load(index_path, MAX_INDEX_BYTES, a, &text, &size, err));
    quire_status status =
        qr_json_parse_object(text, size, "model.safetensors.index.json", 0, a, &index, err);
    qr_free(a, text, size + 1, 1);
    QR_TRY(status);
    const struct qr_json *map = qr_json_get(index, "weight_map");
    struct qr_safetensors *s = NULL;
    if (!qr_json_is_object(map))
        status =
            qr_fail(err, QUIRE_E_FORMAT, "model.safetensors.index.json has no object weight_map");
    else if (!(s = new_set(a, MAX_SHARDS)))
        status = qr_fail(err, QUIRE_E_NOMEM, "no memory to open the files of weight_map");
    else
        status = open_indexed(s, dir, map, err);
    qr_json_free(index);
    if (status == QUIRE_OK)
        *out = s;
    else
        qr_safetensors_close(s);
    return status;
}

quire_status qr_safetensors_open_dir(const char *dir, const struct quire_allocator *a,
                                     struct qr_safetensors **out, struct quire_error *err)
{
    *out = NULL;
    char *single = qr_path_join(a, dir, "model.safetensors");
    char *index = qr_path_join(a, dir, "model.safetensors.index.json");
    quire_status status;
    if (!single || !index)
        status = qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", qr_path_tail(dir));
    else if (qr_file_exists(single) || !qr_file_exists(index))
        status = qr_safetensors_open(single, a, out, err);
    else
        status = open_sharded(dir, index, a, out, err);
    qr_strfree(a, single);
    qr_strfree(a, index);
    return status;
}

/* ---- Access */

size_t qr_safetensors_count(const struct qr_safetensors *s) { return s->n_tensors; }

const struct qr_safetensor *qr_safetensors_tensor(const struct qr_safetensors *s, size_t i)
{
    return i < s->n_tensors ? &s->tensors[i] : NULL;
}

bool qr_safetensors_find(const struct qr_safetensors *s, const char *name, size_t *index)
{
    uint32_t i;
    if (!qr_name_index_find(&s->index, s->tensors, tensor_name, name, strlen(name), &i))
        return false;
    *index = i;
    return true;
}

quire_status qr_safetensors_read_range(const struct qr_safetensors *s, size_t i, uint64_t begin,
                                       uint64_t bytes, void *dst, struct quire_error *err)
{
    const struct qr_safetensor *t = qr_safetensors_tensor(s, i);
    uint64_t end;
    if (!t)
        return qr_fail(err, QUIRE_E_RANGE, "tensor number %zu of %zu", i, s->n_tensors);
    if (!qr_add_u64(begin, bytes, &end) || end > t->bytes)
        return qr_fail(err, QUIRE_E_RANGE,
                       "tensor %.80s: %llu bytes at offset %llu requested, it has %llu", t->name,
                       (unsigned long long)bytes, (unsigned long long)begin,
                       (unsigned long long)t->bytes);
    return qr_file_read(&s->shards[t->shard].file, t->offset + begin, dst, bytes, err);
}
