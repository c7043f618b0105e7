/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gguf.c - GGUF files: directory, metadata, tokenizer, model configuration, weights, a step.
 *
 * Checks the accessors, that reader and tokenizer stay within their memory bounds, and that a model
 * that opens computes a step. gguf_mutator.c keeps counts, lengths and offsets consistent. */
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include "fuzz.h"
#include "gguf_mutator.h"
#include "run_model.h"
#include <quire/tokenizer.h>
#include <stdlib.h>
#include <string.h>

static volatile uint8_t sink;

static void read_array(const struct qr_gguf_array *arr)
{
    struct qr_gguf_str s;
    int64_t i;
    float f;
    bool b;
    for (size_t e = 0; e < arr->count; e++) {
        if (qr_gguf_array_str(arr, e, &s) && s.size)
            sink = (uint8_t)(s.data[0] ^ s.data[s.size - 1]);
        (void)qr_gguf_array_i64(arr, e, &i);
        (void)qr_gguf_array_f32(arr, e, &f);
        (void)qr_gguf_array_bool(arr, e, &b);
    }
    fuzz_check(!qr_gguf_array_str(arr, arr->count, &s), "an element past the end");
}

static void read_keys(const struct qr_gguf *g)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < qr_gguf_key_count(g); i++) {
        const struct qr_gguf_str key = qr_gguf_key(g, i);
        struct qr_gguf_array arr;
        struct qr_gguf_str s;
        uint64_t u;
        int64_t n;
        float f;
        bool b;
        char *name = strndup(key.data, key.size);
        fuzz_check(qr_gguf_has(g, name), "key %s is not found", name);
        (void)qr_gguf_get_u64(g, name, &u, &err);
        (void)qr_gguf_get_i64(g, name, &n, &err);
        (void)qr_gguf_get_f32(g, name, &f, &err);
        (void)qr_gguf_get_bool(g, name, &b, &err);
        if (qr_gguf_get_str(g, name, &s, &err) == QUIRE_OK && s.size)
            sink = (uint8_t)s.data[s.size - 1];
        if (qr_gguf_get_array(g, name, &arr, &err) == QUIRE_OK)
            read_array(&arr);
        free(name);
    }
}

static void read_tensors(const struct qr_gguf *g, size_t input)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < qr_gguf_tensor_count(g); i++) {
        const struct qr_gguf_tensor *t = qr_gguf_tensor(g, i);
        size_t found;
        fuzz_check(t->offset <= input && t->bytes <= input - t->offset, "%s exceeds the file",
                   t->name);
        fuzz_check(qr_gguf_find_tensor(g, t->name, &found) && found == i, "%s is not found",
                   t->name);
        uint8_t *data = malloc(t->bytes ? t->bytes : 1);
        const quire_status s = qr_gguf_read_tensor(g, i, data, t->bytes, &err);
        fuzz_check(s == QUIRE_OK, "%s: %s", t->name, err.msg);
        fuzz_check(qr_gguf_read_range(g, i, t->bytes, 1, data, &err) == QUIRE_E_RANGE,
                   "%s: a read past its end", t->name);
        free(data);
    }
}

static void check_reader(const uint8_t *data, size_t size)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    struct qr_gguf *g = NULL;
    fuzz_memory_init(&memory, fuzz_reader_limit(size));
    const quire_status s = qr_gguf_open_memory(data, size, &memory.hooks, NULL, &g, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (g != NULL), "%s", fuzz_status(s));
    if (g) {
        read_keys(g);
        read_tensors(g, size);
    }
    qr_gguf_close(g);
    fuzz_memory_done(&memory);
}

static void check_tokenizer(const uint8_t *data, size_t size)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    fuzz_memory_init(&memory, fuzz_reader_limit(4 * size));
    const struct quire_tokenizer_params params = { .struct_size = sizeof params,
                                                   .allocator = &memory.hooks };
    struct quire_tokenizer *t = NULL;
    int32_t ids[64];
    size_t n;
    const quire_status s = quire_tokenizer_open_memory(data, size, NULL, 0, &params, &t, &err);
    fuzz_check_error(s, &err);
    if (t && quire_tokenizer_encode(t, "Hello, the <s> \xC3\xA9", 16, QUIRE_ENCODE_PARSE_SPECIAL,
                                    ids, 64, &n, &err) == QUIRE_OK)
        for (size_t i = 0; i < n; i++)
            fuzz_check(ids[i] >= 0 && (size_t)ids[i] < quire_tokenizer_vocab_size(t), "id %d",
                       ids[i]);
    quire_tokenizer_close(t);
    fuzz_memory_done(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_reader(data, size);
    if (size >= 4 && memcmp(data, "GGUF", 4) == 0)
        check_tokenizer(data, size);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.data = data;
    mp.data_bytes = size;
    if (size)
        run_model(mp, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return gguf_mutate(data, size, max_size, seed);
}
