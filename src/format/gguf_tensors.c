/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tensors.c - the tensor directory of a GGUF file: shapes, types, and where the data lies. */
#include "base/checked.h"
#include "base/error.h"
#include "base/reader.h"
#include "base/weight_type.h"
#include "format/gguf_internal.h"
#include <string.h>

/* Tensors must lie one behind the other in directory order, each padded to the alignment. One running
 * position therefore excludes misaligned, overlapping, unordered and outlying data at once. */
struct layout {
    uint64_t data_at;  /* of the file, where tensor data begins */
    uint64_t expected; /* relative offset that the next tensor must have */
    uint64_t end;      /* relative end of the last tensor, without padding */
    uint64_t alignment;
    uint64_t file_size;
};

static quire_status bad(struct quire_error *err, size_t at, const char *name, const char *reason)
{
    return qr_fail_at(err, QUIRE_E_FORMAT, at, "tensor %s: %s (at byte %zu)", name, reason, at);
}

static quire_status init_layout(struct layout *l, const struct qr_file *f,
                                const struct gguf_meta *meta, struct quire_error *err)
{
    uint32_t alignment = GGUF_DEFAULT_ALIGNMENT;
    const struct gguf_kv *kv = qr_gguf_meta_find(meta, "general.alignment");
    if (kv && kv->type != QR_GGUF_U32)
        return qr_fail_at(err, QUIRE_E_FORMAT, kv->value_at,
                          "general.alignment has type %s, u32 expected",
                          qr_gguf_value_name(kv->type));
    QR_TRY(qr_gguf_meta_u32_or(meta, "general.alignment", alignment, &alignment, err));
    if (alignment < 8 || alignment > GGUF_MAX_ALIGNMENT || (alignment & (alignment - 1)))
        return qr_fail_at(err, QUIRE_E_FORMAT, kv ? kv->value_at : 0,
                          "general.alignment is %u: a power of two from 8 to 65536 expected",
                          alignment);
    *l = (struct layout){ .alignment = alignment, .file_size = f->size };
    l->data_at = (meta->head_bytes + (uint64_t)alignment - 1) & ~((uint64_t)alignment - 1);
    return QUIRE_OK;
}

/* Sets t->bytes from type and dims. */
static quire_status tensor_bytes(struct qr_gguf_tensor *t, size_t at, struct quire_error *err)
{
    const struct qr_weight_type_info *type = qr_weight_type_info(t->type);
    if (!type)
        return qr_fail_at(err, QUIRE_E_UNSUPPORTED, at,
                          "tensor %s has type number %u, which is unknown or was removed", t->name,
                          t->type);
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
        return bad(err, at, t->name, "its size in bytes wraps around");
    return QUIRE_OK;
}

static quire_status place(struct layout *l, struct qr_gguf_tensor *t, uint64_t offset, size_t at,
                          struct quire_error *err)
{
    if (offset != l->expected)
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "tensor %s: offset %llu, expected %llu right behind the one before",
                          t->name, (unsigned long long)offset, (unsigned long long)l->expected);
    uint64_t end, padded;
    if (!qr_add_u64(l->data_at, offset, &t->offset) || !qr_add_u64(t->offset, t->bytes, &end) ||
        end > l->file_size || !qr_add_u64(offset + t->bytes, l->alignment - 1, &padded))
        return qr_fail_at(err, QUIRE_E_FORMAT, at,
                          "tensor %s: %llu bytes at offset %llu end beyond the file of %llu bytes",
                          t->name, (unsigned long long)t->bytes, (unsigned long long)offset,
                          (unsigned long long)l->file_size);
    l->end = offset + t->bytes;
    l->expected = padded & ~(l->alignment - 1);
    return QUIRE_OK;
}

/* Copies the name to *names and moves that on. Names go into messages and look-ups as C strings. */
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
                              "tensor name at byte %zu holds control byte 0x%02x", at, s[i]);
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
    return place(l, t, offset, at, err);
}

static const char *tensor_name(const void *owner, uint32_t i, size_t *len)
{
    const struct qr_gguf_tensor *tensors = owner;
    *len = tensors[i].name_len;
    return tensors[i].name;
}

quire_status qr_gguf_index_tensors(struct qr_gguf *g, struct quire_error *err)
{
    if (!qr_name_index_init(&g->tensor_index, g->n_tensors, g->allocator))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to index %zu tensors", g->n_tensors);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (qr_name_index_add(&g->tensor_index, g->tensors, tensor_name, i) != i)
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %s appears twice", g->tensors[i].name);
    return QUIRE_OK;
}

bool qr_gguf_find_tensor(const struct qr_gguf *g, const char *name, size_t *index)
{
    uint32_t i;
    if (!qr_name_index_find(&g->tensor_index, g->tensors, tensor_name, name, strlen(name), &i))
        return false;
    *index = i;
    return true;
}

/* Room for n more tensors behind the ones that are there. */
static bool grow_tensors(struct qr_gguf *g, size_t n)
{
    size_t total;
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

quire_status qr_gguf_parse_tensors(struct qr_gguf *g, const struct gguf_meta *meta,
                                   const struct gguf_shape *shape, size_t tensors_at,
                                   struct quire_error *err)
{
    struct gguf_part *part = &g->parts[g->n_parts - 1];
    struct layout l = { 0 };
    QR_TRY(init_layout(&l, &part->file, meta, err));
    part->names_bytes = (size_t)shape->names_bytes;
    part->names = qr_alloc(g->allocator, part->names_bytes, 1);
    if (!part->names || !grow_tensors(g, (size_t)shape->n_tensors))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %llu tensor infos",
                       (unsigned long long)shape->n_tensors);
    struct qr_reader r = { meta->head, meta->head_bytes, tensors_at };
    char *names = part->names;
    const char *names_end = part->names + part->names_bytes;
    for (uint64_t i = 0; i < shape->n_tensors; i++) {
        struct qr_gguf_tensor *t = &g->tensors[g->n_tensors];
        t->file = (uint32_t)(g->n_parts - 1);
        QR_TRY(read_tensor(&r, &l, t, &names, names_end, err));
        g->n_tensors++;
    }
    /* the padding behind the last tensor may be missing; without tensors even the header's padding may */
    const uint64_t end = shape->n_tensors ? l.data_at + l.expected : l.data_at;
    if (l.file_size > end)
        g->trailing += l.file_size - end;
    return QUIRE_OK;
}
