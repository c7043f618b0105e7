/* SPDX-License-Identifier: Apache-2.0 */
/* test_scored_merges.h - turns the scores of a SentencePiece vocabulary into merges. */
#ifndef QR_TEST_SCORED_MERGES_H
#define QR_TEST_SCORED_MERGES_H
#include "test_gguf.h"
#include <stdlib.h>

struct scored_token {
    const char *text;
    size_t size;
    float score;
};

/* Two tokens whose texts are that of a third one, in the order of its score. */
struct scored_merge {
    const struct scored_token *whole;
    size_t left;
};

static inline int by_text(const void *a, const void *b)
{
    const struct scored_token *x = a, *y = b;
    const int c = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return c ? c : (x->size > y->size) - (x->size < y->size);
}

static inline int by_score(const void *a, const void *b)
{
    const struct scored_merge *x = a, *y = b;
    if (x->whole->score != y->whole->score)
        return x->whole->score < y->whole->score ? 1 : -1;
    return x->whole != y->whole ? (x->whole > y->whole) - (x->whole < y->whole)
                                : (x->left > y->left) - (x->left < y->left);
}

static inline bool is_token(const struct scored_token *sorted, size_t n, const char *text,
                            size_t size)
{
    const struct scored_token key = { text, size, 0 };
    return bsearch(&key, sorted, n, sizeof *sorted, by_text) != NULL;
}

static inline void put_merges(struct image *m, const struct scored_token *sorted, size_t n)
{
    size_t count = 0;
    struct scored_merge *merges = NULL;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t left = 1; left < sorted[i].size; left++)
                if (is_token(sorted, n, sorted[i].text, left) &&
                    is_token(sorted, n, sorted[i].text + left, sorted[i].size - left)) {
                    if (merges)
                        merges[count] = (struct scored_merge){ &sorted[i], left };
                    count++;
                }
        merges = merges ? merges : malloc(count * sizeof *merges);
    }
    qsort(merges, count, sizeof *merges, by_score);
    put_kv_array(m, "tokenizer.ggml.merges", QR_GGUF_STRING, count);
    for (size_t i = 0; i < count; i++) {
        put_u64(m, merges[i].whole->size + 1);
        put(m, merges[i].whole->text, merges[i].left);
        put_u8(m, ' ');
        put(m, merges[i].whole->text + merges[i].left, merges[i].whole->size - merges[i].left);
    }
    free(merges);
}

/* A GGUF file with the vocabulary of another one, whose texts precede a space: tokens, types, and
 * merges instead of scores. */
static inline struct image image_with_merges(const void *data, size_t size, const char *model)
{
    struct qr_gguf *g;
    struct qr_gguf_array texts, types, scores;
    assert_int_equal(qr_gguf_open_memory(data, size, NULL, NULL, &g, NULL), QUIRE_OK);
    assert_int_equal(qr_gguf_get_array(g, "tokenizer.ggml.tokens", &texts, NULL), QUIRE_OK);
    assert_int_equal(qr_gguf_get_array(g, "tokenizer.ggml.token_type", &types, NULL), QUIRE_OK);
    assert_int_equal(qr_gguf_get_array(g, "tokenizer.ggml.scores", &scores, NULL), QUIRE_OK);
    struct scored_token *normal = malloc(texts.count * sizeof *normal);
    struct image m;
    size_t n = 0;
    put_head(&m, 3, 0, 7);
    put_kv_str(&m, "tokenizer.ggml.model", model);
    put_kv_str(&m, "tokenizer.ggml.pre", "granite-embed-multi-311m"); /* not read with gemma4 */
    put_kv_array(&m, "tokenizer.ggml.tokens", QR_GGUF_STRING, texts.count);
    for (size_t i = 0; i < texts.count; i++) {
        struct qr_gguf_str s;
        int64_t type;
        assert_true(qr_gguf_array_str(&texts, i, &s) && qr_gguf_array_i64(&types, i, &type));
        normal[n] = (struct scored_token){ s.data, s.size, 0 };
        assert_true(qr_gguf_array_f32(&scores, i, &normal[n].score));
        n += type == 1;
        put_u64(&m, s.size);
        put(&m, s.data, s.size);
    }
    put_kv_array(&m, "tokenizer.ggml.token_type", QR_GGUF_I32, types.count);
    for (size_t i = 0; i < types.count; i++) {
        int64_t type = 0;
        assert_true(qr_gguf_array_i64(&types, i, &type));
        put_u32(&m, (uint32_t)type);
    }
    put_kv_u32(&m, "tokenizer.ggml.bos_token_id", 1);
    put_key(&m, "tokenizer.ggml.add_space_prefix", QR_GGUF_BOOL);
    put_u8(&m, 1);
    qsort(normal, n, sizeof *normal, by_text);
    put_merges(&m, normal, n);
    free(normal);
    qr_gguf_close(g);
    return m;
}

#endif
