/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_bpe.c - BPE merges against a naive implementation; NFC, ill-formed UTF-8. */
#include "test_tokenizer.h"
#include "tokenizer/merges.h"
#include "tokenizer/vocab.h"
#include <pthread.h>

/* Reference: scans all adjacent pairs and merges the best one, leftmost first, until none is left.
 */
static struct ids naive(const struct quire_tokenizer *t, const char *text, size_t size)
{
    struct {
        size_t at, size;
        int32_t id;
    } s[512];
    size_t n = 0;
    for (size_t i = 0; i < size; n++) {
        const size_t len =
            t->kind == QR_VOCAB_SENTENCEPIECE_BPE && (uint8_t)text[i] >= 0xE0 ? 3 : 1;
        s[n].at = i;
        s[n].size = len;
        s[n].id = t->kind == QR_VOCAB_BYTE_LEVEL_BPE ? t->byte_token[(uint8_t)text[i]]
                                                     : qr_vocab_find(t, text + i, len);
        i += len;
    }
    for (;;) {
        size_t best = n;
        uint64_t best_rank = UINT64_MAX;
        int32_t best_id = -1;
        for (size_t i = 0; i + 1 < n; i++) {
            uint64_t rank = UINT64_MAX;
            int32_t id = -1;
            if (t->merge_by_score) {
                id = qr_vocab_find(t, text + s[i].at, s[i].size + s[i + 1].size);
                if (id >= 0 && t->tokens[id].type == QUIRE_TOKEN_NORMAL)
                    rank = t->score_rank[id];
            } else if (s[i].id >= 0 && s[i + 1].id >= 0) {
                const struct qr_merge *p = qr_merge_find(t, s[i].id, s[i + 1].id);
                if (p) {
                    rank = p->rank;
                    id = p->id;
                }
            }
            if (rank < best_rank) {
                best_rank = rank;
                best = i;
                best_id = id;
            }
        }
        if (best == n)
            break;
        s[best].size += s[best + 1].size;
        s[best].id = best_id;
        memmove(&s[best + 1], &s[best + 2], (n - best - 2) * sizeof *s);
        n--;
    }
    struct ids out = { .n = n };
    for (size_t i = 0; i < n; i++)
        out.id[i] = s[i].id;
    return out;
}

static void byte_merges_are_exact(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 60; round++) {
        struct vocab *v = byte_vocab("gpt-2");
        static char texts[400][128];
        size_t n = 0;
        /* random merges over three letters; every result is a token that later merges may use */
        for (int i = 0; i < 120 && n < 100; i++) {
            const size_t pool = 3 + n;
            const size_t a = next_random(&seed) % pool, b = next_random(&seed) % pool;
            const char *left = a < 3 ? v->letters['a' + a] : texts[a - 3];
            const char *right = b < 3 ? v->letters['a' + b] : texts[b - 3];
            if (strlen(left) + strlen(right) > 12)
                continue;
            memmove(texts[n], left, strlen(left));
            strcpy(texts[n] + strlen(left), right);
            bool known = false, twice = false;
            for (size_t k = 0; k < n; k++)
                known = known || strcmp(texts[k], texts[n]) == 0;
            for (size_t k = 0; k < v->spec.n_merges; k++)
                twice = twice || (strcmp(v->merges[k].left, left) == 0 &&
                                  strcmp(v->merges[k].right, right) == 0);
            if (twice)
                continue;
            add_merge(v, left, right);
            if (!known)
                add_token(v, texts[n++], QUIRE_TOKEN_NORMAL);
        }
        struct quire_tokenizer *t = build(v);
        for (int i = 0; i < 200; i++) {
            char text[100];
            const size_t size = next_random(&seed) % sizeof text;
            for (size_t k = 0; k < size; k++)
                text[k] = (char)('a' + next_random(&seed) % 3);
            const struct ids want = naive(t, text, size), got = encode_bytes(t, text, size, 0);
            assert_int_equal(want.n, got.n);
            assert_memory_equal(want.id, got.id, got.n * sizeof *got.id);
        }
        quire_tokenizer_close(t);
    }
}

/* Merges by score with few distinct scores (hence ties), unknown letters, and with or without
 * tokens across spaces. */
static void score_merges_are_exact(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 60; round++) {
        struct vocab *v = spm_vocab();
        static char texts[200][64];
        static const char *const units[] = { "a", "b", "c", "\xE2\x96\x81" };
        v->spec.prepend_scheme = QR_PREPEND_NEVER;
        v->spec.n_tokens = (size_t)SPM_A + 2; /* "c" occurs only inside longer tokens */
        for (int n = 0; n < 80; n++) {
            texts[n][0] = 0;
            const unsigned len = 2 + next_random(&seed) % 4;
            for (unsigned k = 0; k < len; k++) {
                unsigned u = next_random(&seed) % 4;
                if (u == 3 && k && strcmp(texts[n] + strlen(texts[n]) - 1, "\x81") != 0)
                    u = round % 2 ? 3 : 0; /* every second vocabulary has tokens across spaces */
                strcat(texts[n], units[u]);
            }
            bool known = false;
            for (int k = 0; k < n; k++)
                known = known || strcmp(texts[k], texts[n]) == 0;
            if (known)
                snprintf(texts[n], sizeof texts[n], "x%d", n);
            add_piece(v, texts[n], (float)(next_random(&seed) % 5) * (round % 3 ? 1.0f : -0.0f));
        }
        struct quire_tokenizer *t = build(v);
        for (int i = 0; i < 200; i++) {
            char text[60], marked[200] = "";
            const size_t size = 1 + next_random(&seed) % sizeof text;
            for (size_t k = 0; k < size; k++) {
                const unsigned u = next_random(&seed) % 4;
                text[k] = u == 3 ? ' ' : (char)('a' + u);
                strcat(marked, units[u]);
            }
            const struct ids want = naive(t, marked, strlen(marked));
            struct ids got = encode_bytes(t, text, size, 0);
            /* an unknown letter that did not merge falls back to a byte token */
            for (size_t k = 0; k < got.n; k++)
                if (got.id[k] == SPM_BYTE + 'c')
                    got.id[k] = QUIRE_TOKEN_NONE;
            assert_int_equal(want.n, got.n);
            assert_memory_equal(want.id, got.id, got.n * sizeof *got.id);
        }
        quire_tokenizer_close(t);
    }
}

static void whole_pieces(void **state)
{
    (void)state;
    for (int ignore = 0; ignore < 2; ignore++) {
        struct vocab *v = byte_vocab("llama-bpe");
        v->spec.ignore_merges = ignore != 0;
        const int32_t ab = add_token(v, "ab", QUIRE_TOKEN_NORMAL),
                      abc = add_token(v, "abc", QUIRE_TOKEN_NORMAL);
        add_token(v, "abcd", QUIRE_TOKEN_CONTROL);
        const int32_t space = add_token(v,
                                        "\xC4\xA0"
                                        "abc",
                                        QUIRE_TOKEN_NORMAL);
        add_merge(v, "a", "b");
        struct quire_tokenizer *t = build(v);
        if (ignore)
            assert_ids(encode(t, "abc abc", 0), abc, space);
        else
            assert_ids(encode(t, "abc abc", 0), ab, 'c', ' ', ab, 'c');
        assert_ids(encode(t, "abcd", 0), ab, 'c', 'd'); /* never a control token */
        quire_tokenizer_close(t);
    }
}

static void missing_bytes(void **state)
{
    (void)state;
    for (int unk = 0; unk < 2; unk++) {
        struct vocab *v = byte_vocab("gpt-2");
        v->tokens['b'].text = "unused-b";
        v->tokens['b'].size = 8;
        v->spec.special[QUIRE_SPECIAL_UNK] =
            unk ? add_token(v, "<unk>", QUIRE_TOKEN_UNKNOWN) : QUIRE_TOKEN_NONE;
        struct quire_tokenizer *t = build(v);
        if (unk)
            assert_ids(encode(t, "abc", 0), 'a', 256, 'c');
        else
            assert_ids(encode(t, "abc", 0), 'a', 'c');
        quire_tokenizer_close(t);
    }
}

static void normal_form(void **state)
{
    (void)state;
    struct quire_tokenizer *qwen = build(byte_vocab("qwen2")), *gpt = build(byte_vocab("gpt-2"));
    /* e + acute, a decomposed Hangul syllable, a mark that composes with nothing */
    static const char parts[] = "ae\xCC\x81 \xE1\x84\x80\xE1\x85\xA1 x\xCC\x81";
    assert_ids(encode(qwen, parts, 0), 'a', 0xC3, 0xA9, ' ', 0xEA, 0xB0, 0x80, ' ', 'x', 0xCC,
               0x81);
    assert_int_equal(encode(gpt, parts, 0).n, strlen(parts));
    /* 200 marks in the wrong order, more than the insertion sort takes */
    char marks[402] = "a";
    for (int i = 0; i < 200; i++)
        memcpy(marks + 1 + 2 * i, i % 2 ? "\xCC\xA3" : "\xCC\x81", 3);
    const struct ids got = encode(qwen, marks, 0);
    assert_int_equal(got.n, 3 + 199 * 2); /* a + dot below compose to three bytes */
    assert_int_equal(got.id[0], 0xE1);
    assert_int_equal(got.id[got.n - 1], 0x81);
    quire_tokenizer_close(qwen);
    quire_tokenizer_close(gpt);
}

/* Every maximal ill-formed sequence becomes one U+FFFD. */
static void ill_formed_utf8(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(byte_vocab("gpt-2"));
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "\x80", "\xEF\xBF\xBD" },
        { "a\xC3", "a\xEF\xBF\xBD" },
        { "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD" },                 /* overlong */
        { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* surrogate */
        { "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "\xE2\x82"
          "b\xF0\x9F\x98",
          "\xEF\xBF\xBD"
          "b\xEF\xBF\xBD" }, /* incomplete characters */
        { "\xFF\xFE"
          "ok",
          "\xEF\xBF\xBD\xEF\xBF\xBD"
          "ok" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ids got = encode(t, cases[i].in, 0), want = encode(t, cases[i].out, 0);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.id, want.id, got.n * sizeof *got.id);
        char *back = decode(t, got.id, got.n, 0);
        assert_string_equal(back, cases[i].out);
        free(back);
    }
    const struct ids nul = encode_bytes(t, "a\0b", 3, 0);
    assert_ids(nul, 'a', 0, 'b');
    quire_tokenizer_close(t);
}

struct worker {
    const struct quire_tokenizer *t;
    const char *text;
    struct ids got;
};

static void *encode_in_thread(void *user)
{
    struct worker *w = user;
    for (int i = 0; i < 200; i++)
        w->got = encode(w->t, w->text, QUIRE_ENCODE_PARSE_SPECIAL);
    return NULL;
}

static void concurrent_encodes(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("deepseek-v3");
    add_token(v, "ab", QUIRE_TOKEN_NORMAL);
    add_merge(v, "a", "b");
    struct quire_tokenizer *t = build(v);
    static struct worker workers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        workers[i].t = t;
        workers[i].text = "ab 123456 \xE4\xB8\xAD\xE6\x96\x87 abab\n\nx";
        assert_int_equal(pthread_create(&threads[i], NULL, encode_in_thread, &workers[i]), 0);
    }
    const struct ids want = encode(t, workers[0].text, QUIRE_ENCODE_PARSE_SPECIAL);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].got.n, want.n);
        assert_memory_equal(workers[i].got.id, want.id, want.n * sizeof *want.id);
    }
    quire_tokenizer_close(t);
}

static void arguments(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(byte_vocab("gpt-2"));
    int32_t ids[4] = { -7, -7, -7, -7 };
    size_t n = 99;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode(NULL, "a", 1, 0, ids, 4, &n, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode(t, NULL, 1, 0, ids, 4, &n, &err));
    assert_non_null(strstr(err.msg, "text"));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode(t, "a", 1, 0, NULL, 4, &n, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode(t, "a", 1, 0, ids, 4, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode(t, "a", 1, 64, ids, 4, &n, &err));
    assert_status(QUIRE_E_LIMIT,
                  quire_tokenizer_encode(t, "a", (size_t)INT32_MAX + 1, 0, ids, 4, &n, &err));
    assert_int_equal(n, 99);
    assert_status(QUIRE_OK, quire_tokenizer_encode(t, NULL, 0, 0, NULL, 0, &n, &err));
    assert_int_equal(n, 0);
    assert_status(QUIRE_OK, quire_tokenizer_encode(t, "abc", 3, 0, NULL, 0, &n, &err));
    assert_int_equal(n, 3);
    assert_status(QUIRE_E_LIMIT, quire_tokenizer_encode(t, "abc", 3, 0, ids, 2, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(ids[0], 'a');
    assert_int_equal(ids[2], -7);
    assert_status(QUIRE_OK, quire_tokenizer_encode(t, "abc", 3, 0, ids, 3, &n, NULL));
    assert_int_equal(quire_tokenizer_vocab_size(NULL), 0);
    size_t size = 9;
    static const int32_t wrong[] = { -1, 256, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < 4; i++) {
        assert_null(quire_tokenizer_token_text(t, wrong[i], &size));
        assert_int_equal(size, 0);
        assert_null(quire_tokenizer_token_bytes(t, wrong[i], &size));
        assert_int_equal(quire_tokenizer_token_type(t, wrong[i]), QUIRE_TOKEN_UNDEFINED);
        assert_false(quire_tokenizer_is_eog(t, wrong[i]) ||
                     quire_tokenizer_is_special(t, wrong[i]));
        assert_status(QUIRE_E_RANGE,
                      quire_tokenizer_decode(t, &wrong[i], 1, 0, NULL, 0, &size, &err));
    }
    assert_int_equal(quire_tokenizer_special(t, QUIRE_N_SPECIAL), QUIRE_TOKEN_NONE);
    assert_int_equal(quire_tokenizer_find(t, "a", 1), 'a');
    assert_int_equal(quire_tokenizer_find(t, "nothing", 7), QUIRE_TOKEN_NONE);
    assert_memory_equal(quire_tokenizer_token_text(t, ' ', &size), "\xC4\xA0", 2);
    assert_memory_equal(quire_tokenizer_token_bytes(t, ' ', &size), " ", 1);
    quire_tokenizer_close(t);
    quire_tokenizer_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_merges_are_exact),
        cmocka_unit_test(score_merges_are_exact),
        cmocka_unit_test(whole_pieces),
        cmocka_unit_test(missing_bytes),
        cmocka_unit_test(normal_form),
        cmocka_unit_test(ill_formed_utf8),
        cmocka_unit_test(arguments),
        cmocka_unit_test(concurrent_encodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
