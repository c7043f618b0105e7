/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_hostile.c - malformed vocabularies fail with a message that names the fault. */
#include "test_gguf.h"
#include "test_tokenizer.h"
#include "tokenizer/open_gguf.h"
#include <math.h>

/* ---- Descriptions, independent of the file format. */

static void sizes(void **state)
{
    (void)state;
    expect_build_error(vocab_new(QR_VOCAB_BYTE_LEVEL_BPE), QUIRE_E_FORMAT, "empty");
    struct vocab *v = byte_vocab("gpt-2");
    v->spec.n_tokens = ((size_t)1 << 24) + 1;
    expect_build_error(v, QUIRE_E_LIMIT, "16777217");
    v = byte_vocab("gpt-2");
    v->spec.n_tokens = SIZE_MAX;
    expect_build_error(v, QUIRE_E_LIMIT, "tokens");
    v = byte_vocab("gpt-2");
    v->tokens[77].text = NULL;
    expect_build_error(v, QUIRE_E_FORMAT, "no token 77");
    v = byte_vocab("gpt-2");
    add_token(v, "", QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_FORMAT, "token 256 is empty");
    char *large = malloc((1 << 20) + 1);
    memset(large, 'a', 1 << 20);
    large[1 << 20] = 0;
    v = byte_vocab("gpt-2");
    add_token(v, large, QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_LIMIT, "token 256 has 1048576 bytes");
    large[2000] = 0;
    v = byte_vocab("gpt-2");
    add_token(v, large, QUIRE_TOKEN_CONTROL);
    expect_build_error(v, QUIRE_E_LIMIT, "added token 256");
    free(large);
}

static void token_values(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("gpt-2");
    add_token(v, "abc", QUIRE_TOKEN_NORMAL);
    add_token(v, "abc", QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_FORMAT, "tokens 256 and 257 have the same text \"abc\"");
    v = byte_vocab("gpt-2");
    add_token(v, "abc", (enum quire_token_type)7);
    expect_build_error(v, QUIRE_E_FORMAT, "unknown type 7");
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < 3; i++) {
        v = spm_vocab();
        v->tokens[270].score = bad[i];
        expect_build_error(v, QUIRE_E_FORMAT, "score of token 270");
    }
    static const char *const bytes[] = { "<0x-1>", "<0xZZ>", "<0x1FF>", "<0x1>",  "<0X41>",
                                         "0x41",   "<0x 1>", "<0x+1>",  "<0x41> " };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        v = spm_vocab();
        add_token(v, bytes[i], QUIRE_TOKEN_BYTE);
        expect_build_error(v, QUIRE_E_FORMAT, "not of the form <0xXX>");
    }
    v = spm_vocab();
    v->spec.special[QUIRE_SPECIAL_UNK] = QUIRE_TOKEN_NONE;
    v->tokens[5].type = QUIRE_TOKEN_NORMAL;
    expect_build_error(v, QUIRE_E_FORMAT, "255 byte tokens and no unknown token");
}

static void special_ids(void **state)
{
    (void)state;
    static const int64_t wrong[] = { 256, -2, INT64_MAX, INT64_MIN, UINT32_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (int k = 0; k < QUIRE_N_SPECIAL; k++) {
            struct vocab *v = byte_vocab("gpt-2");
            v->spec.special[k] = wrong[i];
            expect_build_error(v, QUIRE_E_FORMAT, "outside the vocabulary");
        }
        struct vocab *v = byte_vocab("gpt-2");
        v->spec.prefix_ids[v->spec.n_prefix_ids++] = wrong[i];
        expect_build_error(v, QUIRE_E_FORMAT, "outside the vocabulary");
        v = byte_vocab("gpt-2");
        v->spec.eog[v->spec.n_eog++] = wrong[i];
        expect_build_error(v, QUIRE_E_FORMAT, "outside the vocabulary");
    }
}

static void merges(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "zz", "a" }, { "a", "zz" }, { "a", "c" }, { "", "a" }, { "a", "" }
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct vocab *v = byte_vocab("gpt-2");
        add_token(v, "ab", QUIRE_TOKEN_NORMAL);
        add_merge(v, "a", "b");
        add_merge(v, pairs[i][0], pairs[i][1]);
        expect_build_error(v, QUIRE_E_FORMAT, "merge 1");
    }
    static const char *const lines[] = { "ab", "a  b", " a b", "a b ", "", " ", "  " };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct vocab *v = byte_vocab("gpt-2");
        add_token(v, "ab", QUIRE_TOKEN_NORMAL);
        v->merges[v->spec.n_merges++] =
            (struct qr_spec_merge){ .left = lines[i], .left_size = strlen(lines[i]) };
        expect_build_error(v, QUIRE_E_FORMAT, "merge 0");
    }
    struct vocab *v = byte_vocab("gpt-2");
    add_token(v, "ab", QUIRE_TOKEN_NORMAL);
    add_merge(v, "a", "b");
    v->merges[v->spec.n_merges++] = (struct qr_spec_merge){ .left = "a b", .left_size = 3 };
    expect_build_error(v, QUIRE_E_FORMAT, "merges 0 and 1 are the same");
}

/* ---- GGUF images. */

struct gguf_vocab {
    const char *model, *pre;
    uint32_t token_type, type_type, score_type; /* element types */
    uint64_t n_tokens, n_types, n_scores;       /* counts in the array headers */
    uint32_t eos;
};

static void put_vocab(struct image *m, const struct gguf_vocab *g)
{
    put_head(m, 3, 0, 7);
    put_kv_str(m, "general.architecture", "llama");
    put_kv_str(m, "tokenizer.ggml.model", g->model);
    put_kv_str(m, "tokenizer.ggml.pre", g->pre);
    put_kv_array(m, "tokenizer.ggml.tokens", g->token_type, g->n_tokens);
    for (uint64_t i = 0; i < g->n_tokens; i++) {
        char text[16];
        snprintf(text, sizeof text, i ? "t%d" : "<unk>", (int)i);
        if (g->token_type == QR_GGUF_STRING)
            put_str(m, text);
        else
            put_u32(m, (uint32_t)i);
    }
    put_kv_array(m, "tokenizer.ggml.token_type", g->type_type, g->n_types);
    for (uint64_t i = 0; i < g->n_types; i++) {
        const float one = 1;
        if (g->type_type == QR_GGUF_STRING)
            put_str(m, "1");
        else if (g->type_type == QR_GGUF_F32)
            put(m, &one, 4);
        else
            put_u32(m, i ? 1 : 2);
    }
    put_kv_array(m, "tokenizer.ggml.scores", g->score_type, g->n_scores);
    for (uint64_t i = 0; i < g->n_scores; i++) {
        const float score = -(float)i;
        if (g->score_type == QR_GGUF_U8)
            put_u8(m, 0);
        else
            put(m, &score, 4);
    }
    put_kv_u32(m, "tokenizer.ggml.eos_token_id", g->eos);
}

static void expect_gguf(const struct gguf_vocab *g, quire_status status, const char *text)
{
    struct image m;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    struct qr_gguf *file;
    struct quire_tokenizer *t = NULL;
    put_vocab(&m, g);
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, &f.hooks, NULL, &file, &err));
    const quire_status st = qr_tokenizer_from_gguf(file, &f.hooks, &t, &err);
    if (st != status || (text && !strstr(err.msg, text)))
        print_error("got %s: %s\n", quire_status_name(st), err.msg);
    assert_int_equal(st, status);
    assert_true(!text || strstr(err.msg, text));
    assert_true((st == QUIRE_OK) == (t != NULL));
    quire_tokenizer_close(t);
    qr_gguf_close(file);
    assert_int_equal(f.live_count, 0);
    drop(&m);
}

static void gguf_files(void **state)
{
    (void)state;
    const struct gguf_vocab good = { "llama",     "default",   QR_GGUF_STRING,
                                     QR_GGUF_I32, QR_GGUF_F32, 20,
                                     20,          20,          7 };
    struct gguf_vocab g = good;
    expect_gguf(&g, QUIRE_OK, NULL);
    g.model = "t5";
    expect_gguf(&g, QUIRE_OK, NULL);
    g.model = "rwkv";
    expect_gguf(&g, QUIRE_OK, NULL);
    g.model = "hybriddna";
    expect_gguf(&g, QUIRE_E_UNSUPPORTED, "hybriddna");
    g.model = "gpt2"; /* there is no default pre-tokenizer */
    expect_gguf(&g, QUIRE_E_UNSUPPORTED, "unknown pre-tokenizer \"default\"");
    g.pre = "(a+)+b";
    expect_gguf(&g, QUIRE_E_UNSUPPORTED, "(a+)+b");
    g.pre = "gpt-2 phi-2";
    expect_gguf(&g, QUIRE_E_UNSUPPORTED, "unknown pre-tokenizer");
    g.pre = "";
    expect_gguf(&g, QUIRE_E_UNSUPPORTED, "unknown pre-tokenizer");
    g.pre = "gpt-2";
    expect_gguf(&g, QUIRE_E_FORMAT, "tokenizer.ggml.merges");
    g = good;
    g.token_type = QR_GGUF_U32;
    expect_gguf(&g, QUIRE_E_FORMAT, "tokenizer.ggml.tokens");
    g = good;
    g.n_tokens = g.n_types = g.n_scores = 0;
    expect_gguf(&g, QUIRE_E_FORMAT, "");
    g = good;
    g.n_types = 19;
    expect_gguf(&g, QUIRE_E_FORMAT, "token_type has 19 entries for 20 tokens");
    g = good;
    g.n_scores = 21;
    expect_gguf(&g, QUIRE_E_FORMAT, "scores has 21 entries for 20 tokens");
    g = good;
    g.type_type = QR_GGUF_STRING;
    expect_gguf(&g, QUIRE_E_FORMAT, "token_type");
    g.type_type = QR_GGUF_F32;
    expect_gguf(&g, QUIRE_E_FORMAT, "token_type");
    g = good;
    g.score_type = QR_GGUF_U8; /* a read of floats would overrun the array */
    expect_gguf(&g, QUIRE_E_FORMAT, "scores");
    static const uint32_t ids[] = { 20, INT32_MAX, UINT32_MAX };
    for (size_t i = 0; i < 3; i++) {
        g = good;
        g.eos = ids[i];
        expect_gguf(&g, QUIRE_E_FORMAT, "eos_token_id");
    }
}

static void gguf_memory(void **state)
{
    (void)state;
    struct image m;
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer_params o = { .struct_size = sizeof o };
    struct quire_tokenizer *t;
    const struct gguf_vocab g = { "llama",     "default",   QR_GGUF_STRING,
                                  QR_GGUF_I32, QR_GGUF_F32, 20,
                                  20,          20,          7 };
    fail_alloc_init(&f, 0, false);
    o.allocator = &f.hooks;
    put_vocab(&m, &g);
    for (size_t size = 0; size < m.size; size++) { /* every truncation fails */
        assert_int_not_equal(quire_tokenizer_open_memory(m.data, size, NULL, 0, &o, &t, &err),
                             QUIRE_OK);
        assert_null(t);
        assert_int_equal(f.live_count, 0);
    }
    assert_status(QUIRE_OK, quire_tokenizer_open_memory(m.data, m.size, NULL, 0, &o, &t, &err));
    drop(&m);                             /* the tokenizer does not refer to the image */
    assert_ids(encode(t, "t5", 0), 0, 5); /* the prepended space is unknown */
    assert_int_equal(quire_tokenizer_vocab_size(t), 20);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 7);
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
}

/* Optional keys, with valid and with wrong values. */
static void gguf_settings(void **state)
{
    (void)state;
    enum { N_EXTRA = 6 };
    for (int wrong = 0; wrong < 3; wrong++) {
        struct image m;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_gguf *file;
        struct quire_tokenizer *t;
        const struct gguf_vocab g = { "llama",     "default",   QR_GGUF_STRING,
                                      QR_GGUF_I32, QR_GGUF_F32, 20,
                                      20,          20,          7 };
        put_vocab(&m, &g);
        const uint64_t n_kv = 7 + N_EXTRA + (wrong == 2);
        memcpy(m.data + 16, &n_kv, sizeof n_kv);
        put_key(&m, "tokenizer.ggml.add_bos_token", wrong == 1 ? QR_GGUF_U8 : QR_GGUF_BOOL);
        put_u8(&m, 0);
        put_key(&m, "tokenizer.ggml.add_eos_token", QR_GGUF_BOOL);
        put_u8(&m, 1);
        put_key(&m, "tokenizer.ggml.add_space_prefix", QR_GGUF_BOOL);
        put_u8(&m, 0);
        put_kv_str(&m, "tokenizer.chat_template", "A");
        put_kv_str(&m, "tokenizer.chat_template.tool_use", "B");
        put_kv_u32(&m, "tokenizer.ggml.seperator_token_id", 9);
        if (wrong == 2)
            put_kv_str(&m, "tokenizer.ggml.precompiled_charsmap", "x");
        assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &file, &err));
        const quire_status st = qr_tokenizer_from_gguf(file, NULL, &t, &err);
        qr_gguf_close(file);
        drop(&m); /* the tokenizer does not refer to the file */
        if (wrong) {
            assert_int_equal(st, wrong == 1 ? QUIRE_E_FORMAT : QUIRE_E_UNSUPPORTED);
            assert_non_null(strstr(err.msg, wrong == 1 ? "add_bos_token" : "precompiled_charsmap"));
            assert_null(t);
            continue;
        }
        assert_int_equal(st, QUIRE_OK);
        assert_false(quire_tokenizer_adds_bos(t));
        assert_ids(encode(t, "", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 7);
        assert_ids(encode(t, "z", 0), 0); /* unknown, without a prepended space */
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_SEP), 9);
        assert_string_equal(quire_tokenizer_chat_template(t, NULL), "A");
        assert_string_equal(quire_tokenizer_chat_template(t, "tool_use"), "B");
        assert_null(quire_tokenizer_chat_template(t, "none"));
        quire_tokenizer_close(t);
    }
}

/* ---- SentencePiece models: every truncation, every flipped bit, random bytes. */

static size_t put_piece(uint8_t *out, const char *text, uint8_t type, float score)
{
    const size_t n = strlen(text);
    const uint8_t head[] = { 0x0A, (uint8_t)(2 + n + 5 + 2), 0x0A, (uint8_t)n };
    memcpy(out, head, 4);
    memcpy(out + 4, text, n);
    out[4 + n] = 0x15;
    memcpy(out + 5 + n, &score, 4);
    out[9 + n] = 0x18;
    out[10 + n] = type;
    return n + 11;
}

static void sentencepiece_files(void **state)
{
    (void)state;
    uint8_t model[256];
    size_t n = put_piece(model, "<unk>", 2, 0);
    n += put_piece(model + n, "<s>", 3, 0);
    n += put_piece(model + n, "</s>", 3, 0);
    n += put_piece(model + n, "\xE2\x96\x81", 1, -1);
    n += put_piece(model + n, "ab", 1, -2);
    static const uint8_t tail[] = {
        0x12, 2, 0x18, 2, 0x1A, 2, 0x20, 0
    }; /* BPE; remove_extra_whitespaces false */
    memcpy(model + n, tail, sizeof tail);
    n += sizeof tail;
    char path[] = "/tmp/quire-spm-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    int opened = 0;
    uint32_t seed = 1;
    for (size_t i = 0; i < n * 9 + n; i++) {
        uint8_t copy[256];
        memcpy(copy, model, n);
        const size_t size = i < n ? i : n;
        if (i > n)
            copy[(i - n) / 9] ^=
                (uint8_t)((i - n) % 9 == 8 ? next_random(&seed) : 1u << (i - n) % 9);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, copy, size, 0), (ssize_t)size);
        struct fail_alloc f;
        fail_alloc_init(&f, 0, false);
        struct quire_tokenizer_params o = { .struct_size = sizeof o };
        o.allocator = &f.hooks;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status st = quire_tokenizer_open(path, &o, &t, &err);
        assert_true(st == QUIRE_OK ? t != NULL : err.msg[0] && !t);
        if (st == QUIRE_OK) {
            opened++;
            assert_true(encode(t, "ab  xy", QUIRE_ENCODE_PARSE_SPECIAL).n > 0);
        }
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
    assert_true(opened > 1);
    close(fd);
    unlink(path);
}

static void paths(void **state)
{
    (void)state;
    struct quire_tokenizer *t = (struct quire_tokenizer *)&t;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_IO, quire_tokenizer_open("/nonexistent/tokenizer.json", NULL, &t, &err));
    assert_null(t);
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_open(NULL, NULL, &t, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_open("x", NULL, NULL, &err));
    assert_status(QUIRE_E_IO, quire_tokenizer_open("/proc", NULL, &t, &err));
    assert_status(QUIRE_E_IO, quire_tokenizer_open("/dev/null", NULL, &t, &err));
    struct quire_tokenizer_params o = { .struct_size = sizeof o };
    o.struct_size = 4;
    assert_status(QUIRE_E_MISUSE, quire_tokenizer_open("x", &o, &t, &err));
    char path[] = "/tmp/quire-tok-XXXXXX";
    const int fd = mkstemp(path);
    assert_status(QUIRE_E_FORMAT, quire_tokenizer_open(path, NULL, &t, &err)); /* empty */
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_status(QUIRE_E_FORMAT, quire_tokenizer_open(path, NULL, &t, &err));
    assert_non_null(strstr(err.msg, "neither"));
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),         cmocka_unit_test(token_values),
        cmocka_unit_test(special_ids),   cmocka_unit_test(merges),
        cmocka_unit_test(gguf_files),    cmocka_unit_test(gguf_memory),
        cmocka_unit_test(gguf_settings), cmocka_unit_test(sentencepiece_files),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
