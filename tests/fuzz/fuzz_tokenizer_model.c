/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tokenizer_model.c - tokenizer.model, a SentencePiece model in Protocol Buffers.
 *
 * Checks the bound of memory, the vocabulary, and the invariants of encode and decode. */
#include "check_tokenizer.h"
#include "mutate.h"
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "Hello  the th\xC3\xA9 1234\n<s></s>a\xCC\x81\xff \t";
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    struct quire_tokenizer *t = NULL;
    const char *path = fuzz_path("tokenizer.model");
    fuzz_write_file(path, data, size);
    fuzz_memory_init(&memory, fuzz_reader_limit(16 * size));
    const struct quire_tokenizer_params params = { .struct_size = sizeof params,
                                                   .allocator = &memory.hooks };
    const quire_status s = quire_tokenizer_open(path, &params, &t, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (t != NULL), "%s", fuzz_status(s));
    if (t) {
        check_vocab(t);
        check_text(t, text, sizeof text - 1, false);
    }
    quire_tokenizer_close(t);
    fuzz_memory_done(&memory);
    unlink(path);
    return 0;
}

/* ---- Mutation of one field; the lengths of the messages around it agree */

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5, MAX_FIELDS = 512, MAX_DEPTH = 2 };

struct field {
    const uint8_t *begin, *payload; /* payload: of WIRE_BYTES, else of any field after its key */
    size_t payload_size;
    uint64_t key;
};

static uint64_t take_varint(struct fuzz_input *in)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && in->left; shift += 7) {
        const uint8_t b = (uint8_t)fuzz_take(in, 1);
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            break;
    }
    return v;
}

static void put_varint(struct fuzz_buffer *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        fuzz_put_number(b, (v & 0x7f) | 0x80, 1);
    fuzz_put_number(b, v, 1);
}

static size_t find_fields(struct field *fields, const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    size_t n = 0;
    for (; in.left && n < MAX_FIELDS; n++) {
        struct field *f = &fields[n];
        f->begin = in.data;
        f->key = take_varint(&in);
        f->payload_size = (f->key & 7) == WIRE_64 ? 8 : (f->key & 7) == WIRE_32 ? 4 : 0;
        if ((f->key & 7) == WIRE_BYTES)
            f->payload_size = (size_t)take_varint(&in);
        f->payload = in.data;
        if ((f->key & 7) == WIRE_VARINT) {
            take_varint(&in);
            f->payload_size = (size_t)(in.data - f->payload);
        } else {
            fuzz_take_bytes(&in, &f->payload_size);
        }
    }
    return n;
}

static void put_field(struct fuzz_buffer *out, uint64_t key, const void *payload, size_t size)
{
    put_varint(out, key);
    if ((key & 7) == WIRE_BYTES)
        put_varint(out, size);
    fuzz_put(out, payload, size);
}

static void put_message(struct fuzz_buffer *out, const uint8_t *data, size_t size,
                        struct fuzz_random *rng, int depth)
{
    struct field fields[MAX_FIELDS];
    const size_t n = find_fields(fields, data, size);
    const size_t at = n ? fuzz_random(rng, (uint32_t)n) : 0;
    const uint32_t kind = fuzz_random(rng, 10);
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        struct fuzz_buffer changed = { 0 };
        if (i != at) {
            put_field(out, f->key, f->payload, f->payload_size);
        } else if (kind < 6 && depth < MAX_DEPTH && (f->key & 7) == WIRE_BYTES) {
            put_message(&changed, f->payload, f->payload_size, rng, depth + 1);
            put_field(out, f->key, changed.data, changed.size);
        } else if (kind < 8 || kind == 9) {
            fuzz_put_mutated(&changed, f->payload, f->payload_size, f->payload_size + 8);
            const uint64_t key = kind == 9 ? fuzz_random(rng, 48 << 3) : f->key;
            put_field(out, key, changed.data, changed.size);
        } else if (fuzz_random(rng, 2)) { /* twice, or not at all */
            put_field(out, f->key, f->payload, f->payload_size);
            put_field(out, f->key, f->payload, f->payload_size);
        }
        fuzz_buffer_free(&changed);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct fuzz_random rng = { seed };
    struct fuzz_buffer out = { 0 };
    if (fuzz_random(&rng, 8) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    put_message(&out, data, size, &rng, 0);
    return fuzz_mutated(&out, data, size, max_size);
}
