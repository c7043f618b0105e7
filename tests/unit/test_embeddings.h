/* SPDX-License-Identifier: Apache-2.0 */
/* test_embeddings.h - prompts of embedding rows: a model's own rows, read from its file, and random
 * ones. */
#ifndef QUIRE_TEST_EMBEDDINGS_H
#define QUIRE_TEST_EMBEDDINGS_H
#include "engine_requests.h"
#include "format/gguf.h"
#include <stdlib.h>

/* The embedding tensor of a model. */
struct lookup {
    float *rows; /* [n_tokens][hidden_size] */
    uint32_t hidden_size, n_tokens;
};

/* Reads tensor token_embd of a GGUF file, of type f32 or bf16. */
static inline struct lookup open_lookup(const char *path)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_gguf *g;
    size_t at;
    assert_status(QUIRE_OK, qr_gguf_open(path, NULL, NULL, &g, &err));
    assert_true(qr_gguf_find_tensor(g, "token_embd.weight", &at));
    const struct qr_gguf_tensor *t = qr_gguf_tensor(g, at);
    struct lookup l = { .hidden_size = (uint32_t)t->dims[0], .n_tokens = (uint32_t)t->dims[1] };
    const size_t n = (size_t)l.hidden_size * l.n_tokens, width = (size_t)t->bytes / n;
    assert_true((t->type == 0 && width == 4) || (t->type == 30 && width == 2));
    l.rows = malloc(n * sizeof *l.rows);
    uint8_t *raw = malloc((size_t)t->bytes);
    assert_true(l.rows && raw);
    assert_status(QUIRE_OK, qr_gguf_read_tensor(g, at, raw, t->bytes, &err));
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0; /* a bf16 is the upper half of an f32 */
        memcpy((uint8_t *)&bits + (4 - width), raw + i * width, width);
        memcpy(&l.rows[i], &bits, sizeof bits);
    }
    free(raw);
    qr_gguf_close(g);
    return l;
}

static inline const float *row_of(const struct lookup *l, int32_t token)
{
    return l->rows + (size_t)token * l->hidden_size;
}

static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Rows of numbers in -1 .. 1. */
static inline float *random_rows(uint32_t n, uint32_t hidden_size, uint32_t seed)
{
    float *rows = malloc((size_t)n * hidden_size * sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < (size_t)n * hidden_size; i++)
        rows[i] = (float)next_random(&seed) / (1 << 23) - 1;
    return rows;
}

/* The model of the tests that need no reference data. */
static inline struct quire_engine_params tiny_params(void)
{
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";
    p.n_threads = 1;
    p.block_size = 16;
    p.context_length = 256;
    return p;
}

static inline struct quire_prompt_part token_part(const int32_t *tokens, size_t n)
{
    return (struct quire_prompt_part){ .tokens = tokens, .n_tokens = n };
}

static inline struct quire_prompt_part row_part(const float *rows, size_t n, uint32_t hidden_size)
{
    return (
        struct quire_prompt_part){ .embeddings = rows, .n_rows = n, .hidden_size = hidden_size };
}

static inline struct quire_request_params of_parts(const struct quire_prompt_part *parts, size_t n,
                                                   uint32_t max_tokens)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.parts = parts;
    p.n_parts = n;
    p.max_tokens = max_tokens;
    p.sampling = &greedy_sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    return p;
}

#endif
