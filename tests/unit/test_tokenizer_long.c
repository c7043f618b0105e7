/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_long.c - round trips of 16 MiB of repetitive text on a 64 KiB stack. */
#include "test_tokenizer.h"
#include <pthread.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#endif

/* Sanitizers need far more stack and time. */
#ifdef SANITIZED
enum { LARGE = 1 << 20, SMALL = 1 << 18, STACK = 1 << 20 };
#else
enum { LARGE = 16 << 20, SMALL = 1 << 20, STACK = 64 << 10 };
#endif

struct job {
    const struct quire_tokenizer *t;
    const char *text;
    size_t size;
    int32_t *ids;
    size_t n, max;
    quire_status status;
};

static void *run(void *user)
{
    struct job *j = user;
    j->status = quire_tokenizer_encode(j->t, j->text, j->size, 0, j->ids, j->max, &j->n, NULL);
    return NULL;
}

static void encode_on_small_stack(struct job *j)
{
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run, j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_status(QUIRE_OK, j->status);
}

/* the first five are repeated up to the full size, the others up to SMALL bytes */
static const char *const units[] = { "a",        " ", "\n",   "\xF0\x9F\x98\x80",
                                     "\xCC\x81", "0", "x y ", "\xCC\xA3\xCC\x81",
                                     "aA" };

static void check(const struct quire_tokenizer *t, size_t max, bool exact)
{
    const size_t room = max + 16; /* for a prepended space */
    char *text = malloc(max), *back = malloc(room);
    int32_t *ids = malloc(room * sizeof *ids);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t len = strlen(units[u]), most = u < 5 || max < SMALL ? max : SMALL;
        const size_t size = most / len * len;
        for (size_t i = 0; i < size; i++)
            text[i] = units[u][i % len];
        struct job j = { .t = t, .text = text, .size = size, .ids = ids, .max = room };
        encode_on_small_stack(&j);
        if (!exact)
            continue;
        size_t n;
        assert_status(QUIRE_OK, quire_tokenizer_decode(t, ids, j.n, 0, back, room, &n, NULL));
        assert_int_equal(n, size);
        assert_memory_equal(back, text, size);
    }
    free(text);
    free(back);
    free(ids);
}

/* Adds tokens of 2, 4, 8, ... repetitions, so that long runs merge. */
static void add_powers(struct vocab *v, const char *unit, bool merges)
{
    static char texts[2][6][256];
    const int row = *unit != 'a';
    texts[row][0][0] = 0;
    for (int k = 0; k < 5; k++) {
        const char *half = k ? texts[row][k - 1] : unit;
        snprintf(texts[row][k], sizeof texts[row][k], "%s%s", half, half);
        add_piece(v, texts[row][k], (float)-k);
        if (merges)
            add_merge(v, half, half);
    }
}

static void byte_level(void **state)
{
    (void)state;
    static const char *const rules[] = { "gpt-2", "tekken", "deepseek-llm" };
    for (size_t i = 0; i < 3; i++) {
        struct vocab *v = byte_vocab(rules[i]);
        add_powers(v, "a", true);
        add_powers(v, "\xC4\xA0", true);
        struct quire_tokenizer *t = build(v);
        check(t, i == 0 ? LARGE : SMALL, true);
        quire_tokenizer_close(t);
    }
    struct quire_tokenizer *t = build(byte_vocab("qwen2")); /* NFC may change the text */
    check(t, SMALL, false);
    quire_tokenizer_close(t);
}

static void sentencepiece(void **state)
{
    (void)state;
    for (int crossing = 0; crossing < 2; crossing++) {
        struct vocab *v = spm_vocab();
        add_powers(v, "a", false);
        add_powers(v, "\xE2\x96\x81", false);
        if (crossing)
            add_piece(v, "x\xE2\x96\x81y", -3);
        struct quire_tokenizer *t = build(v);
        check(t, crossing ? SMALL : LARGE, true);
        quire_tokenizer_close(t);
    }
}

static void wordpiece(void **state)
{
    (void)state;
    struct vocab *v = vocab_new(QR_VOCAB_WORDPIECE);
    v->spec.clean_text = v->spec.isolate_cjk = v->spec.strip_accents = v->spec.lowercase = true;
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "[UNK]", QUIRE_TOKEN_CONTROL);
    add_token(v,
              "\xE2\x96\x81"
              "a",
              QUIRE_TOKEN_NORMAL);
    struct quire_tokenizer *t = build(v);
    check(t, LARGE, false);
    quire_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(byte_level),
                                        cmocka_unit_test(sentencepiece),
                                        cmocka_unit_test(wordpiece) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
