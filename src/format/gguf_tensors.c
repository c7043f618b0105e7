/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tensors.c - parses the tensor directory of a GGUF file: names, shapes, types, offsets. */
#include "format/gguf_tensors.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/reader.h"
#include "base/weight_type.h"
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include <string.h>

/* Tensor data must be contiguous in directory order, each tensor padded to the alignment. Comparing
 * every offset with one running position therefore rejects misaligned, overlapping, unordered and
 * out-of-file data. */
struct layout {
    uint64_t data_at;  /* file offset of the tensor data */
    uint64_t expected; /* offset of the next tensor, relative to data_at */
    uint64_t alignment;
    uint64_t file_size;
};

static quire_status init_layout(struct layout *l, const struct qr_file *f,
                                const struct qr_gguf_meta *meta, struct quire_error *err)
{
    uint32_t alignment = QR_GGUF_DEFAULT_ALIGNMENT;
    const struct qr_gguf_kv *kv = qr_gguf_meta_find(meta, "general.alignment");
    if (kv && kv->type != QR_GGUF_U32)
        return qr_fail_at(err, QUIRE_E_FORMAT, kv->value_at,
                          "general.alignment has type %s, u32 expected",
                          qr_gguf_value_name(kv->type));
    /* GCOVR_EXCL_BR_LINE: the type was checked. */
    QR_TRY(qr_gguf_meta_u32_or(meta, "general.alignment", alignment, &alignment, err));
    if (alignment < 8 || alignment > QR_GGUF_MAX_ALIGNMENT || (alignment & (alignment - 1)))
        /* GCOVR_EXCL_BR_LINE: the default is valid, so there is a key. */
        return qr_fail_at(err, QUIRE_E_FORMAT, kv ? kv->value_at : 0,
                          "general.alignment is %u: a power of two from 8 to 65536 expected",
                          alignment);
    *l = (struct layout){ .alignment = alignment, .file_size = f->size };
    l->data_at = (meta->header_bytes + (uint64_t)alignment - 1) & ~((uint64_t)alignment - 1);
    return QUIRE_OK;
}

/* Sets t->bytes from type and dims. */
static quire_status tensor_bytes(struct qr_gguf_tensor *t, size_t at, struct quire_error *err)
{
    const struct qr_weight_type_info *type =
        t->type < QR_WEIGHT_FIRST_HF ? qr_weight_type_info(t->type) : NULL;
    if (!type) {
        struct qr_weight_type_foreign foreign;
        if (qr_weight_type_foreign(t->type, &foreign))
            return qr_fail_at(err, QUIRE_E_UNSUPPORTED, at, "tensor %s: type %s %s", t->name,
                              foreign.name, foreign.why);
        return qr_fail_at(err, QUIRE_E_UNSUPPORTED, at,
                          "tensor %s has type number %u, which is unknown or was removed", t->name,
                          t->type);
    }
    uint64_t n = 1;
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] == 0 || t->dims[d] > INT64_MAX || !qr_mul_u64(n, t->dims[d], &n))
            return qr_fail_at(err, QUIRE_E_FORMAT, at,
                              "tensor %s: dimension %u is %llu, which is zero or too large",
                              t->name, d, (unsigned long long)t->dims[d]);
    if (t->dims[0] % type->block_elems != 0)
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "tensor %s: rows of %llu elements, not a multiple of %u (type %s)",
                          t->name, (unsigned long long)t->dims[0], type->block_elems, type->name);
    if (!qr_mul_u64(n / type->block_elems, type->block_bytes, &t->bytes))
        return qr_fail_at(err, QUIRE_E_FORMAT, at, "tensor %s: size in bytes overflows", t->name);
    return QUIRE_OK;
}

/* Checks the offset, converts it to a file offset, and advances *l. */
static quire_status place_tensor(struct layout *l, struct qr_gguf_tensor *t, uint64_t offset,
                                 size_t at, struct quire_error *err)
{
    if (offset != l->expected)
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "tensor %s: offset %llu, expected %llu (right after the previous tensor)",
                          t->name, (unsigned long long)offset, (unsigned long long)l->expected);
    uint64_t end, padded;
    /* GCOVR_EXCL_BR_LINE: the offset is at most the file's size plus an alignment, far below
     * 2^64. */
    if (!qr_add_u64(l->data_at, offset, &t->offset) || !qr_add_u64(t->offset, t->bytes, &end) ||
        end > l->file_size || !qr_add_u64(offset + t->bytes, l->alignment - 1, &padded))
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "tensor %s: %llu bytes at offset %llu exceed the file size of %llu bytes",
                          t->name, (unsigned long long)t->bytes, (unsigned long long)offset,
                          (unsigned long long)l->file_size);
    l->expected = padded & ~(l->alignment - 1);
    return QUIRE_OK;
}

/* Copies the name to *names and advances *names. Control characters are rejected because messages
 * quote names. */
static quire_status read_name(struct qr_reader *r, struct qr_gguf_tensor *t, char **names,
                              const char *names_end, struct quire_error *err)
{
    const size_t at = r->pos;
    uint64_t len;
    const uint8_t *s;
    if (!qr_read_u64(r, &len) || len >= (size_t)(names_end - *names) ||
        !qr_read_bytes(r, (size_t)len, &s))
        return qr_fail_at(err, QUIRE_E_IO, at, "the file changed while it was read");
    for (uint64_t i = 0; i < len; i++)
        if (s[i] < 0x20 || s[i] == 0x7f)
            return qr_fail_at(err, QUIRE_E_FORMAT, at,
                              "tensor name at byte %zu contains control character 0x%02x", at,
                              s[i]);
    if (len == 0)
        return qr_fail_at(err, QUIRE_E_FORMAT, at, "empty tensor name at byte %zu", at);
    memcpy(*names, s, (size_t)len);
    (*names)[len] = 0;
    t->name = *names;
    t->name_len = (uint32_t)len;
    *names += len + 1;
    return QUIRE_OK;
}

static quire_status read_tensor(struct qr_reader *r, struct layout *l, struct qr_gguf_tensor *t,
                                char **names, const char *names_end, struct quire_error *err)
{
    QR_TRY(read_name(r, t, names, names_end, err));
    const size_t at = r->pos;
    uint64_t offset;
    bool ok = qr_read_u32(r, &t->n_dims) && t->n_dims >= 1 && t->n_dims <= 4;
    for (uint32_t d = 0; d < 4; d++) {
        t->dims[d] = 1;
        if (ok && d < t->n_dims)
            ok = qr_read_u64(r, &t->dims[d]);
    }
    if (!ok || !qr_read_u32(r, &t->type) || !qr_read_u64(r, &offset))
        return qr_fail_at(err, QUIRE_E_IO, at, "the file changed while it was read");
    QR_TRY(tensor_bytes(t, at, err));
    return place_tensor(l, t, offset, at, err);
}

/* Extends the capacity by n tensors. */
static bool grow_tensors(struct qr_gguf *g, size_t n)
{
    size_t total;
    /* GCOVR_EXCL_BR_LINE: headers of at most 1 GiB hold fewer tensors. */
    if (!qr_add_size(g->n_tensors, n, &total) || total >= UINT32_MAX)
        return false;
    struct qr_gguf_tensor *grown = qr_alloc(g->allocator, total, sizeof *grown);
    if (!grown)
        return false;
    if (g->n_tensors)
        memcpy(grown, g->tensors, g->n_tensors * sizeof *grown);
    qr_free(g->allocator, g->tensors, g->tensor_cap, sizeof *g->tensors);
    g->tensors = grown;
    g->tensor_cap = total;
    return true;
}

quire_status qr_gguf_parse_tensors(struct qr_gguf *g, const struct qr_gguf_meta *meta,
                                   const struct qr_gguf_counts *counts, size_t tensors_at,
                                   struct quire_error *err)
{
    struct qr_gguf_shard *shard = &g->shards[g->n_shards - 1];
    struct layout l = { 0 };
    QR_TRY(init_layout(&l, &shard->file, meta, err));
    shard->names_bytes = (size_t)counts->names_bytes;
    shard->names = qr_alloc(g->allocator, shard->names_bytes, 1);
    if (!shard->names || !grow_tensors(g, (size_t)counts->n_tensors))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %llu tensor infos",
                       (unsigned long long)counts->n_tensors);
    struct qr_reader r = { meta->header, meta->header_bytes, tensors_at };
    char *names = shard->names;
    const char *names_end = shard->names + shard->names_bytes;
    for (uint64_t i = 0; i < counts->n_tensors; i++) {
        struct qr_gguf_tensor *t = &g->tensors[g->n_tensors];
        t->shard = (uint32_t)(g->n_shards - 1);
        QR_TRY(read_tensor(&r, &l, t, &names, names_end, err));
        g->n_tensors++;
    }
    /* the padding after the last tensor may be missing; without tensors so may the header's */
    const uint64_t end = counts->n_tensors ? l.data_at + l.expected : l.data_at;
    if (l.file_size > end)
        g->trailing_bytes += l.file_size - end;
    return QUIRE_OK;
}
