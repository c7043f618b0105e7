/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer.h - builders of small vocabularies and shorthands for tokenizer calls. */
#ifndef QUIRE_TEST_TOKENIZER_H
#define QUIRE_TEST_TOKENIZER_H
#include "quire_cmocka.h"
#include "tokenizer/build.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pretokenizer_presets.h"
#include "tokenizer/types.h"
#include "tokenizer/vocab_spec.h"
#include <quire/tokenizer.h>

/* A description under construction, and its arrays. It borrows all texts. */
struct vocab {
    struct qr_vocab_spec spec;
    struct qr_spec_token tokens[4096];
    struct qr_spec_merge merges[4096];
    char letters[256][5];
};

static inline struct vocab *vocab_new(enum qr_vocab_kind kind)
{
    struct vocab *v = calloc(1, sizeof *v);
    assert_non_null(v);
    qr_vocab_spec_init(&v->spec, NULL);
    v->spec.kind = kind;
    v->spec.tokens = v->tokens;
    v->spec.merges = v->merges;
    return v;
}

static inline void vocab_free(struct vocab *v)
{
    qr_vocab_spec_free(&v->spec);
    free(v);
}

static inline int32_t add_token(struct vocab *v, const char *text, enum quire_token_type type)
{
    v->tokens[v->spec.n_tokens] =
        (struct qr_spec_token){ .text = text, .size = strlen(text), .type = (uint8_t)type };
    return (int32_t)v->spec.n_tokens++;
}

static inline int32_t add_piece(struct vocab *v, const char *text, float score)
{
    const int32_t id = add_token(v, text, QUIRE_TOKEN_NORMAL);
    v->tokens[id].score = score;
    return id;
}

static inline void add_merge(struct vocab *v, const char *left, const char *right)
{
    v->merges[v->spec.n_merges++] =
        (struct qr_spec_merge){ left, right, strlen(left), strlen(right) };
}

/* Byte-level vocabulary: ids 0..255 are the bytes; `pre` names the pre-tokenizer preset. */
static inline struct vocab *byte_vocab(const char *pre)
{
    struct vocab *v = vocab_new(QR_VOCAB_BYTE_LEVEL_BPE);
    for (int b = 0; b < 256; b++) {
        uint32_t cp = qr_byte_to_unicode((uint8_t)b);
        char *s = v->letters[b];
        if (cp < 0x80) {
            s[0] = (char)cp;
        } else {
            s[0] = (char)(0xC0 | cp >> 6);
            s[1] = (char)(0x80 | (cp & 0x3F));
        }
        add_token(v, s, QUIRE_TOKEN_NORMAL);
    }
    const struct qr_pretokenizer_preset *preset = qr_pretokenizer_preset_find(pre, strlen(pre));
    assert_non_null(preset);
    memcpy(v->spec.splits, preset->splits, preset->n_splits);
    v->spec.n_splits = preset->n_splits;
    v->spec.nfc = preset->nfc;
    v->spec.ignore_merges = preset->ignore_merges;
    return v;
}

/* SentencePiece vocabulary: <unk>, 256 byte tokens (1..256), U+2581 (257), a..z (258..283). */
enum { SPM_BYTE = 1, SPM_SPACE = 257, SPM_A = 258 };
static inline struct vocab *spm_vocab(void)
{
    struct vocab *v = vocab_new(QR_VOCAB_SENTENCEPIECE_BPE);
    v->spec.merge_by_score = true;
    v->spec.prepend_scheme = QR_PREPEND_ALWAYS;
    v->spec.strip_prepended_space = true;
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "<unk>", QUIRE_TOKEN_UNKNOWN);
    static char bytes[256][8];
    for (int b = 0; b < 256; b++) {
        snprintf(bytes[b], sizeof bytes[b], "<0x%02X>", b);
        add_token(v, bytes[b], QUIRE_TOKEN_BYTE);
    }
    add_piece(v, "\xE2\x96\x81", -100);
    static char letters[26][2];
    for (int i = 0; i < 26; i++) {
        letters[i][0] = (char)('a' + i);
        add_piece(v, letters[i], -101.0f - (float)i);
    }
    return v;
}

/* Builds the tokenizer and frees the description. */
static inline struct quire_tokenizer *build(struct vocab *v)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    const quire_status st = qr_tokenizer_build(&v->spec, NULL, &t, &err);
    if (st != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(st, QUIRE_OK);
    vocab_free(v);
    return t;
}

/* Asserts that the build fails with a message that contains `text`. Frees the description. */
static inline void expect_build_error(struct vocab *v, quire_status status, const char *text)
{
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t = (struct quire_tokenizer *)&f;
    const quire_status st = qr_tokenizer_build(&v->spec, &f.hooks, &t, &err);
    if (st != status || !strstr(err.msg, text))
        print_error("got %s: %s\n", quire_status_name(st), err.msg);
    assert_int_equal(st, status);
    assert_non_null(strstr(err.msg, text));
    assert_null(t);
    assert_int_equal(f.live_count, 0);
    vocab_free(v);
}

struct ids {
    int32_t id[4096];
    size_t n;
};

static inline struct ids encode_bytes(const struct quire_tokenizer *t, const char *text,
                                      size_t size, uint32_t flags)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct ids out;
    const quire_status st =
        quire_tokenizer_encode(t, text, size, flags, out.id, 4096, &out.n, &err);
    if (st != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(st, QUIRE_OK);
    return out;
}

static inline struct ids encode(const struct quire_tokenizer *t, const char *text, uint32_t flags)
{
    return encode_bytes(t, text, strlen(text), flags);
}

#define assert_ids(got_, ...)                                                                      \
    do {                                                                                           \
        const struct ids g_ = (got_);                                                              \
        const int32_t want_[] = { __VA_ARGS__ };                                                   \
        const size_t n_ = sizeof want_ / sizeof *want_;                                            \
        if (g_.n != n_ || memcmp(g_.id, want_, sizeof want_) != 0)                                 \
            for (size_t i_ = 0; i_ < g_.n; i_++)                                                   \
                print_error("%d%s", g_.id[i_], i_ + 1 < g_.n ? " " : " were returned\n");          \
        assert_int_equal(g_.n, n_);                                                                \
        assert_memory_equal(g_.id, want_, sizeof want_);                                           \
    } while (0)

/* Text of ids, NUL-terminated; the caller frees it. */
static inline char *decode(const struct quire_tokenizer *t, const int32_t *ids, size_t n,
                           uint32_t flags)
{
    size_t size, again;
    assert_int_equal(quire_tokenizer_decode(t, ids, n, flags, NULL, 0, &size, NULL), QUIRE_OK);
    char *s = malloc(size + 1);
    assert_int_equal(quire_tokenizer_decode(t, ids, n, flags, s, size, &again, NULL), QUIRE_OK);
    assert_int_equal(size, again);
    s[size] = 0;
    return s;
}

static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
