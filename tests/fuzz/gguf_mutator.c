/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_mutator.c - mutates GGUF files entry by entry. */
#include "gguf_mutator.h"
#include "base/weight_type.h"
#include "format/gguf_value.h"
#include "mutate.h"
#include <string.h>

enum {
    MAX_ENTRIES = 256,
    MAX_DIMS = 4,
    ALIGNMENT = 32,
    MAX_ELEMENTS = 1 << 17,
    MAX_FILE = 1 << 20
};

struct bytes {
    const uint8_t *data;
    size_t size;
};

struct key {
    struct bytes name, value;
    uint32_t type, value_type; /* as written; of the bytes in value */
};

struct tensor {
    struct bytes name, data;
    uint64_t dims[MAX_DIMS], offset;
    uint32_t n_dims, type;
};

struct file {
    uint32_t version;
    struct key keys[MAX_ENTRIES];
    struct tensor tensors[MAX_ENTRIES];
    size_t n_keys, n_tensors;
};

/* ---- Parsing: gives up at the first inconsistency */

static struct bytes take_string(struct fuzz_input *in)
{
    size_t n = (size_t)fuzz_take(in, 8);
    const uint8_t *p = fuzz_take_bytes(in, &n);
    return (struct bytes){ p, n };
}

static bool take_value(struct fuzz_input *in, struct key *k)
{
    const struct fuzz_input begin = *in;
    size_t n = qr_gguf_value_bytes(k->type);
    if (k->type == QR_GGUF_STRING) {
        take_string(in);
    } else if (k->type == QR_GGUF_ARRAY) {
        const uint32_t type = (uint32_t)fuzz_take(in, 4);
        const uint64_t count = fuzz_take(in, 8);
        n = qr_gguf_value_bytes(type);
        if (count > in->left || (!n && type != QR_GGUF_STRING))
            return false;
        n *= (size_t)count;
        for (uint64_t i = 0; type == QR_GGUF_STRING && i < count; i++)
            take_string(in);
        fuzz_take_bytes(in, &n);
    } else if (n) {
        fuzz_take_bytes(in, &n);
    } else {
        return false;
    }
    k->value = (struct bytes){ begin.data, begin.left - in->left };
    return in->left != 0;
}

static bool take_tensor(struct fuzz_input *in, struct tensor *t)
{
    *t = (struct tensor){ .name = take_string(in) };
    t->n_dims = (uint32_t)fuzz_take(in, 4);
    for (uint32_t i = 0; i < MAX_DIMS && i < t->n_dims; i++)
        t->dims[i] = fuzz_take(in, 8);
    t->type = (uint32_t)fuzz_take(in, 4);
    t->offset = fuzz_take(in, 8);
    return t->n_dims <= MAX_DIMS;
}

/* Bytes that the shape implies, or 0 for shapes of more than MAX_ELEMENTS. */
static size_t tensor_bytes(const struct tensor *t)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(t->type);
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->n_dims; i++)
        n = t->dims[i] > MAX_ELEMENTS || n * t->dims[i] > MAX_ELEMENTS ? 0 : n * t->dims[i];
    return info ? (size_t)(n / info->block_elems * info->block_bytes) : 0;
}

static bool parse(struct file *f, const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    if (fuzz_take(&in, 4) != 0x46554747)
        return false;
    f->version = (uint32_t)fuzz_take(&in, 4);
    f->n_tensors = (size_t)fuzz_take(&in, 8);
    f->n_keys = (size_t)fuzz_take(&in, 8);
    if (f->n_tensors > MAX_ENTRIES || f->n_keys > MAX_ENTRIES)
        return false;
    for (size_t i = 0; i < f->n_keys; i++) {
        f->keys[i].name = take_string(&in);
        f->keys[i].type = f->keys[i].value_type = (uint32_t)fuzz_take(&in, 4);
        if (!take_value(&in, &f->keys[i]))
            return false;
    }
    for (size_t i = 0; i < f->n_tensors; i++)
        if (!take_tensor(&in, &f->tensors[i]))
            return false;
    size_t skip = (ALIGNMENT - (size_t)(in.data - data) % ALIGNMENT) % ALIGNMENT;
    fuzz_take_bytes(&in, &skip);
    for (size_t i = 0; i < f->n_tensors; i++) {
        struct tensor *t = &f->tensors[i];
        const size_t n = tensor_bytes(t);
        if (t->offset <= in.left)
            t->data = (struct bytes){ in.data + t->offset,
                                      n < in.left - t->offset ? n : in.left - (size_t)t->offset };
    }
    return true;
}

/* ---- Writing */

static void put_string(struct fuzz_buffer *b, struct bytes s)
{
    fuzz_put_number(b, s.size, 8);
    fuzz_put(b, s.data, s.size);
}

/* repair: offsets follow from the shapes. The data of a tensor that has grown is repeated. */
static void write_file(const struct file *f, bool repair, struct fuzz_buffer *out)
{
    uint64_t offset = 0;
    fuzz_put_text(out, "GGUF");
    fuzz_put_number(out, f->version, 4);
    fuzz_put_number(out, f->n_tensors, 8);
    fuzz_put_number(out, f->n_keys, 8);
    for (size_t i = 0; i < f->n_keys; i++) {
        put_string(out, f->keys[i].name);
        fuzz_put_number(out, f->keys[i].type, 4);
        fuzz_put(out, f->keys[i].value.data, f->keys[i].value.size);
    }
    for (size_t i = 0; i < f->n_tensors; i++) {
        const struct tensor *t = &f->tensors[i];
        put_string(out, t->name);
        fuzz_put_number(out, t->n_dims, 4);
        for (uint32_t d = 0; d < t->n_dims; d++)
            fuzz_put_number(out, t->dims[d], 8);
        fuzz_put_number(out, t->type, 4);
        fuzz_put_number(out, repair ? offset : t->offset, 8);
        offset += (tensor_bytes(t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    fuzz_pad(out, ALIGNMENT);
    for (size_t i = 0; i < f->n_tensors && out->size < MAX_FILE; i++) {
        const struct tensor *t = &f->tensors[i];
        for (size_t left = tensor_bytes(t); left;) {
            const size_t n = t->data.size && t->data.size < left ? t->data.size : left;
            for (size_t k = 0; !t->data.size && k < n; k++)
                fuzz_put(out, "", 1);
            fuzz_put(out, t->data.data, t->data.size ? n : 0);
            left -= n;
        }
        fuzz_pad(out, ALIGNMENT);
    }
}

/* ---- Changes. New bytes are kept in `heap` until the file is written. */

struct change {
    struct file *file;
    struct fuzz_random rng;
    struct fuzz_buffer heap;
};

static uint64_t interesting(struct fuzz_random *r, uint64_t old)
{
    static const uint64_t numbers[] = { 0,          1,          2,          3,
                                        4,          7,          8,          16,
                                        32,         64,         127,        255,
                                        256,        1023,       4096,       65535,
                                        0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff,
                                        1ull << 63, UINT64_MAX, 0x3f800000, 0x7f800000,
                                        0x7fc00000 };
    switch (fuzz_random(r, 4)) {
    case 0:
        return old + 1 - 2 * fuzz_random(r, 2);
    case 1:
        return old ^ 1ull << fuzz_random(r, 64);
    default:
        return numbers[fuzz_random(r, sizeof numbers / sizeof *numbers)];
    }
}

static struct bytes since(const struct change *c, size_t begin)
{
    return (struct bytes){ c->heap.data + begin, c->heap.size - begin };
}

static void mutate_string(struct change *c, struct bytes old)
{
    struct fuzz_buffer text = { 0 };
    fuzz_put_mutated(&text, old.data, old.size, old.size + 16);
    put_string(&c->heap, (struct bytes){ text.data, text.size });
    fuzz_buffer_free(&text);
}

static void mutate_scalar(struct change *c, const uint8_t *old, size_t n)
{
    struct fuzz_input in = { old, n };
    fuzz_put_number(&c->heap, interesting(&c->rng, fuzz_take(&in, n)), n);
}

/* Changes one element, or removes or repeats the last ones. */
static void mutate_array(struct change *c, struct bytes old)
{
    struct fuzz_input in = { old.data, old.size };
    const uint32_t type = (uint32_t)fuzz_take(&in, 4);
    const uint64_t count = fuzz_take(&in, 8);
    const uint32_t at = count ? fuzz_random(&c->rng, (uint32_t)count) : 0;
    const uint64_t end = fuzz_random(&c->rng, 4) ? count : at;
    fuzz_put_number(&c->heap, type, 4);
    fuzz_put_number(&c->heap, end, 8);
    for (uint64_t i = 0; i < end; i++) {
        size_t n = qr_gguf_value_bytes(type);
        const struct bytes text = type == QR_GGUF_STRING ? take_string(&in) : (struct bytes){ 0 };
        const uint8_t *p = fuzz_take_bytes(&in, &n);
        if (type == QR_GGUF_STRING && i == at)
            mutate_string(c, text);
        else if (type == QR_GGUF_STRING)
            put_string(&c->heap, text);
        else if (i == at)
            mutate_scalar(c, p, n);
        else
            fuzz_put(&c->heap, p, n);
    }
}

static void change_value(struct change *c, struct key *k)
{
    const size_t begin = c->heap.size;
    if (k->value_type == QR_GGUF_STRING)
        mutate_string(c, (struct bytes){ k->value.data + 8, k->value.size - 8 });
    else if (k->value_type == QR_GGUF_ARRAY)
        mutate_array(c, k->value);
    else
        mutate_scalar(c, k->value.data, k->value.size);
    k->value = since(c, begin);
}

static void change_name(struct change *c, struct bytes *name)
{
    const size_t begin = c->heap.size;
    fuzz_put_mutated(&c->heap, name->data, name->size, name->size + 8);
    *name = since(c, begin);
}

static void change_key(struct change *c)
{
    struct file *f = c->file;
    const uint32_t at = fuzz_random(&c->rng, (uint32_t)f->n_keys),
                   other = fuzz_random(&c->rng, (uint32_t)f->n_keys);
    struct key *k = &f->keys[at];
    switch (fuzz_random(&c->rng, 12)) {
    case 0:
        change_name(c, &k->name);
        break;
    case 1:
        *k = f->keys[--f->n_keys];
        break;
    case 2: { /* a value of another key */
        const struct bytes name = k->name;
        *k = f->keys[other];
        k->name = name;
        break;
    }
    case 3:
        if (f->n_keys < MAX_ENTRIES)
            f->keys[f->n_keys++] = *k;
        break;
    case 4:
        k->type = fuzz_random(&c->rng, 14);
        break;
    default:
        change_value(c, k);
    }
}

static void change_tensor(struct change *c)
{
    struct file *f = c->file;
    const uint32_t at = fuzz_random(&c->rng, (uint32_t)f->n_tensors),
                   other = fuzz_random(&c->rng, (uint32_t)f->n_tensors),
                   dim = fuzz_random(&c->rng, MAX_DIMS);
    struct tensor *t = &f->tensors[at];
    switch (fuzz_random(&c->rng, 8)) {
    case 0:
        change_name(c, &t->name);
        break;
    case 1:
        *t = f->tensors[--f->n_tensors];
        break;
    case 2:
        if (f->n_tensors < MAX_ENTRIES)
            f->tensors[f->n_tensors++] = *t;
        break;
    case 3:
        /* mostly types that exist, else numbers of other programs */
        t->type =
            fuzz_random(&c->rng, 8) ? fuzz_random(&c->rng, 44) : 96 + fuzz_random(&c->rng, 304);
        break;
    case 4:
        t->n_dims = fuzz_random(&c->rng, MAX_DIMS + 1);
        break;
    case 5: { /* the shape of another tensor */
        const struct bytes name = t->name;
        *t = f->tensors[other];
        t->name = name;
        break;
    }
    case 6:
        t->offset = interesting(&c->rng, t->offset);
        break;
    default:
        t->dims[dim] = interesting(&c->rng, t->dims[dim]);
    }
}

size_t gguf_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct file file;
    struct fuzz_buffer out = { 0 };
    struct change c = { .file = &file, .rng = { seed } };
    if (fuzz_random(&c.rng, 6) == 0 || !parse(&file, data, size))
        return LLVMFuzzerMutate(data, size, max_size);
    fuzz_reserve(&c.heap, 4 * (size + 4096)); /* it must not move: values point into it */
    for (uint32_t rounds = 1 + fuzz_random(&c.rng, 3); rounds; rounds--) {
        if (c.heap.size > size)
            break;
        if (file.n_keys && fuzz_random(&c.rng, 2))
            change_key(&c);
        else if (file.n_tensors)
            change_tensor(&c);
    }
    write_file(&file, fuzz_random(&c.rng, 8) != 0, &out);
    fuzz_buffer_free(&c.heap);
    return fuzz_mutated(&out, data, size, max_size);
}
