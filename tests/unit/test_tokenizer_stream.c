/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_stream.c - the streaming detokenizer emits whole characters for any tokens. */
#include "base/utf8.h"
#include "test_tokenizer.h"

/* Pushes all ids and returns the whole text; checks the invariants of every stream. */
static char *stream(const struct quire_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags)
{
    struct quire_detokenizer *d;
    char *out = calloc(1, 3 * 4096);
    size_t size = 0, part_size;
    const char *part;
    assert_status(QUIRE_OK, quire_detokenizer_create(t, flags, &d, NULL));
    for (size_t i = 0; i < n; i++) {
        assert_status(QUIRE_OK, quire_detokenizer_push(d, ids[i], &part, &part_size, NULL));
        uint32_t cp;
        for (size_t k = 0; k < part_size;) { /* every part is well-formed */
            const int len = qr_utf8_next((const uint8_t *)part + k, part_size - k, &cp);
            assert_true(len > 0);
            k += (size_t)len;
        }
        memcpy(out + size, part, part_size);
        size += part_size;
    }
    assert_status(QUIRE_OK, quire_detokenizer_finish(d, &part, &part_size, NULL));
    assert_true(part_size <= 3);
    memcpy(out + size, part, part_size);
    /* finish has reset the object */
    assert_status(QUIRE_OK, quire_detokenizer_finish(d, &part, &part_size, NULL));
    assert_int_equal(part_size, 0);
    quire_detokenizer_destroy(d);
    return out;
}

/* One byte per token. The result equals the repaired whole. */
static void single_bytes(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(byte_vocab("gpt-2"));
    uint32_t seed = 11;
    for (int round = 0; round < 5000; round++) {
        uint8_t bytes[24], want[80];
        int32_t ids[24];
        const size_t n = next_random(&seed) % sizeof bytes;
        static const char *const good[] = { "a", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80" };
        for (size_t i = 0; i < n;) {
            const char *g = good[next_random(&seed) % 4];
            if (next_random(&seed) % 3 == 0 || i + strlen(g) > n) {
                bytes[i++] = (uint8_t)next_random(&seed);
            } else {
                memcpy(bytes + i, g, strlen(g));
                i += strlen(g);
            }
        }
        for (size_t i = 0; i < n; i++)
            ids[i] = bytes[i];
        const size_t size = qr_utf8_repair(bytes, n, want);
        char *got = stream(t, ids, n, 0);
        if (!memchr(want, 0, size)) {
            assert_int_equal(strlen(got), size);
            assert_memory_equal(got, want, size);
        }
        free(got);
    }
    quire_tokenizer_close(t);
}

static void incomplete_characters(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(byte_vocab("gpt-2"));
    struct quire_detokenizer *d;
    const char *part;
    size_t size;
    assert_status(QUIRE_OK, quire_detokenizer_create(t, 0, &d, NULL));
    static const int32_t emoji[] = { 0xF0, 0x9F, 0x98, 0x80 };
    for (size_t i = 0; i < 4; i++) {
        assert_status(QUIRE_OK, quire_detokenizer_push(d, emoji[i], &part, &size, NULL));
        assert_int_equal(size, i == 3 ? 4 : 0);
    }
    assert_memory_equal(part, "\xF0\x9F\x98\x80", 4);
    /* an ill-formed continuation is replaced at once, and the next byte is kept */
    assert_status(QUIRE_OK, quire_detokenizer_push(d, 0xE2, &part, &size, NULL));
    assert_int_equal(size, 0);
    assert_status(QUIRE_OK, quire_detokenizer_push(d, 'x', &part, &size, NULL));
    assert_int_equal(size, 4);
    assert_memory_equal(part, "\xEF\xBF\xBDx", 4);
    assert_status(QUIRE_OK, quire_detokenizer_push(d, 0xC3, &part, &size, NULL));
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_RANGE, quire_detokenizer_push(d, 256, &part, &size, &err));
    assert_status(QUIRE_E_RANGE, quire_detokenizer_push(d, -1, &part, &size, &err));
    /* the failures changed nothing */
    assert_status(QUIRE_OK, quire_detokenizer_push(d, 0xA9, &part, &size, NULL));
    assert_int_equal(size, 2);
    assert_status(QUIRE_OK, quire_detokenizer_push(d, 0xC3, &part, &size, NULL));
    assert_status(QUIRE_OK, quire_detokenizer_finish(d, &part, &size, NULL));
    assert_int_equal(size, 3);
    assert_memory_equal(part, "\xEF\xBF\xBD", 3);
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_push(NULL, 0, &part, &size, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_push(d, 0, NULL, &size, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_finish(d, &part, NULL, &err));
    quire_detokenizer_destroy(d);
    quire_detokenizer_destroy(NULL);
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_create(NULL, 0, &d, &err));
    assert_null(d);
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_create(t, 8, &d, &err));
    quire_tokenizer_close(t);
}

static void leading_space(void **state)
{
    (void)state;
    struct vocab *v = spm_vocab();
    const int32_t hello = add_piece(v, "\xE2\x96\x81hello", 0);
    const int32_t special = add_token(v, "<|x|>", QUIRE_TOKEN_CONTROL);
    const int32_t own = add_token(v, "<own>", QUIRE_TOKEN_USER_DEFINED);
    struct quire_tokenizer *t = build(v);
    const int32_t ids[] = { special, hello, hello,           special,
                            hello,   own,   SPM_BYTE + 0xC3, SPM_BYTE + 0xA9 };
    char *text = stream(t, ids, 8, 0);
    assert_string_equal(text, "hello hello hello<own>\xC3\xA9");
    free(text);
    text = stream(t, ids, 8, QUIRE_DETOKENIZE_SPECIAL);
    assert_string_equal(text, "<|x|>hello hello<|x|> hello<own>\xC3\xA9");
    free(text);
    text = stream(t, ids, 8, QUIRE_DETOKENIZE_CONTINUES);
    assert_string_equal(text, " hello hello hello<own>\xC3\xA9");
    free(text);
    quire_tokenizer_close(t);

    v = spm_vocab();
    v->spec.prepend_scheme = QR_PREPEND_NEVER;
    v->spec.strip_prepended_space = false;
    t = build(v);
    text = stream(t, (const int32_t[]){ SPM_SPACE, SPM_A }, 2, 0);
    assert_string_equal(text, " a");
    free(text);
    quire_tokenizer_close(t);
}

/* Round trips of any well-formed text are exact. */
static void round_trips(void **state)
{
    (void)state;
    struct quire_tokenizer *kinds[2] = { build(byte_vocab("llama-bpe")), build(spm_vocab()) };
    uint32_t seed = 5;
    for (int round = 0; round < 3000; round++) {
        uint8_t text[200];
        size_t n = 0;
        for (unsigned k = next_random(&seed) % 40; k > 0; k--) {
            uint32_t cp = 1 + next_random(&seed) % (next_random(&seed) % 2 ? 0x7F : 0x10FFFF);
            if ((cp >= 0xD800 && cp < 0xE000) || cp == 0x2581 || cp > 0x10FFFF)
                cp = ' ';
            n += qr_utf8_put(text + n, cp);
        }
        for (size_t k = 0; k < 2; k++) {
            const struct ids ids = encode_bytes(kinds[k], (const char *)text, n, 0);
            char *back = stream(kinds[k], ids.id, ids.n, 0);
            assert_int_equal(strlen(back), n);
            assert_memory_equal(back, text, n);
            free(back);
        }
    }
    quire_tokenizer_close(kinds[0]);
    quire_tokenizer_close(kinds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_bytes),
        cmocka_unit_test(incomplete_characters),
        cmocka_unit_test(leading_space),
        cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
