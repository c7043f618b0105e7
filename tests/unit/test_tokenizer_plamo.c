/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_plamo.c - vocabularies of PLaMo: segmentations of random texts against a plain
 * search, ties, runs by themselves, tokenizer.jsonl, GGUF files. */
#include "test_gguf_vocab.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNK, BOS, EOS, PAD, OP, BYTE, PIECE = BYTE + 256, MAX_PIECES = 400 };
static const char *const specials[] = { "<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>",
                                        "<|plamo:pad|>", "<|plamo:op|>" };
static char byte_texts[256][8], piece_texts[MAX_PIECES][32];

static struct vocab *plamo_vocab(void)
{
    struct vocab *v = vocab_new(QR_VOCAB_PLAMO);
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, specials[UNK], QUIRE_TOKEN_UNKNOWN);
    for (int i = BOS; i <= OP; i++)
        add_token(v, specials[i], QUIRE_TOKEN_CONTROL);
    for (int b = 0; b < 256; b++) {
        snprintf(byte_texts[b], sizeof byte_texts[b], "<0x%02X>", b);
        add_token(v, byte_texts[b], QUIRE_TOKEN_BYTE);
    }
    return v;
}

/* ---- Segmentation */

static const char *const letters[] = { "a", "b", "c", " ", "\n", "\u00E9", "\u6771", "\U0001F600" };

static void add_random_pieces(struct vocab *v, uint32_t *seed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = piece_texts[i];
        bool is_new = false;
        while (!is_new) {
            *text = 0;
            for (size_t k = 1 + next_random(seed) % 6; k; k--)
                strcat(text, letters[next_random(seed) % LEN(letters)]);
            is_new = true;
            for (size_t j = 0; j < i; j++)
                is_new = is_new && strcmp(piece_texts[j], text) != 0;
        }
        /* few different scores: many segmentations are equally good */
        add_piece(v, text, -10000.0f * (float)(1 + next_random(seed) % 3));
    }
}

static size_t character_bytes(const char *s)
{
    size_t n = 1;
    while ((s[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* The definition, character by character from the end, over all pieces. */
static struct ids plain_search(const struct vocab *v, const char *s)
{
    static int64_t best[4096];
    static int32_t first[4096];
    static size_t bytes[4096];
    const size_t n = strlen(s);
    struct ids out = { .n = 0 };
    best[n] = 0;
    for (size_t at = n; at-- > 0;) {
        if ((s[at] & 0xC0) == 0x80)
            continue;
        bytes[at] = character_bytes(s + at);
        best[at] = best[at + bytes[at]] - 10000000;
        first[at] = QUIRE_TOKEN_NONE;
        for (size_t i = PIECE; i < v->spec.n_tokens; i++) {
            const size_t size = v->tokens[i].size;
            if (strncmp(s + at, v->tokens[i].text, size) != 0)
                continue;
            const int64_t sum = best[at + size] + (int64_t)v->tokens[i].score;
            const bool longer = first[at] == QUIRE_TOKEN_NONE || size > bytes[at];
            if (sum > best[at] || (sum == best[at] && longer)) {
                best[at] = sum;
                first[at] = (int32_t)i;
                bytes[at] = size;
            }
        }
    }
    for (size_t at = 0; at < n; at += bytes[at])
        if (first[at] != QUIRE_TOKEN_NONE)
            out.id[out.n++] = first[at];
        else
            for (size_t i = 0; i < bytes[at]; i++)
                out.id[out.n++] = BYTE + (uint8_t)s[at + i];
    return out;
}

static void random_texts(void **state)
{
    (void)state;
    uint32_t seed = 1;
    size_t pieces = 0;
    for (size_t round = 0; round < 20; round++) {
        struct vocab *v = plamo_vocab(), *copy = malloc(sizeof *copy);
        add_random_pieces(v, &seed, 5 + 15 * round);
        *copy = *v;
        struct quire_tokenizer *t = build(v);
        for (size_t k = 0; k < 30; k++) {
            char text[1024] = "";
            for (size_t n = next_random(&seed) % 150; n; n--)
                strcat(text, letters[next_random(&seed) % LEN(letters)]);
            const struct ids want = plain_search(copy, text), got = encode(t, text, 0);
            assert_int_equal(got.n, want.n);
            assert_memory_equal(got.id, want.id, want.n * sizeof *want.id);
            for (size_t i = 0; i < got.n; i++)
                pieces += got.id[i] >= PIECE;
            char *back = decode(t, got.id, got.n, 0);
            assert_string_equal(back, text);
            free(back);
        }
        quire_tokenizer_close(t);
        free(copy);
    }
    assert_true(pieces > 5000);
}

/* Of equal sums that with the longest first token; scores count, not lengths. */
static void ties(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    const int32_t a = add_piece(v, "a", -10000), aa = add_piece(v, "aa", -10000),
                  b = add_piece(v, "b", -10000), ab = add_piece(v, "ab", -20000),
                  abc = add_piece(v, "abc", -20001), c = add_piece(v, "c", 0);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "aaa", 0), aa, a);
    assert_ids(encode(t, "ab", 0), ab);     /* as good as a, b */
    assert_ids(encode(t, "abc", 0), ab, c); /* better than abc */
    assert_ids(encode(t, " ab", 0), BYTE + ' ', ab);
    assert_ids(encode(t, "\u00E9", 0), BYTE + 0xC3, BYTE + 0xA9);
    assert_ids(encode_bytes(t, "b\0\xFF", 3, 0), b, BYTE, BYTE + 0xEF, BYTE + 0xBF, BYTE + 0xBD);
    assert_int_equal(encode(t, "", 0).n, 0);
    assert_int_equal(abc, c - 1);
    quire_tokenizer_close(t);
}

/* A token that ends inside a character is not taken there. */
static void broken_character(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    add_piece(v, "\xE6\x9D", 0);
    add_piece(v, "x\xE6", 0);
    const int32_t x = add_piece(v, "x", -10000);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "x\u6771", 0), x, BYTE + 0xE6, BYTE + 0x9D, BYTE + 0xB1);
    quire_tokenizer_close(t);
}

static void special_tokens(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(plamo_vocab());
    assert_ids(encode(t, "<|plamo:op|>", QUIRE_ENCODE_PARSE_SPECIAL), OP);
    assert_int_equal(encode(t, "<|plamo:op|>", 0).n, strlen(specials[OP]));
    assert_ids(encode(t, "\u2581", 0), BYTE + 0xE2, BYTE + 0x96, BYTE + 0x81); /* not a space */
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT) == OP);
    quire_tokenizer_close(t);
}

static void runs(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    const int32_t a = add_piece(v, "a", -10000), sp = add_piece(v, " ", -10000),
                  spa = add_piece(v, " a", -10000), aab = add_piece(v, "aab", -10000),
                  b = add_piece(v, "b", -10000), nl = add_piece(v, "\n", -10000),
                  nlb = add_piece(v, "\n\n\nb", -10000);
    v->spec.break_repeats = 3;
    v->spec.break_spaces = 2;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "aab", 0), aab);
    assert_ids(encode(t, "aaab", 0), a, a, a, b);
    assert_ids(encode(t, " a", 0), spa);
    assert_ids(encode(t, "  a", 0), sp, sp, a);
    assert_ids(encode(t, "\n\n\nb", 0), nlb); /* lines are no run */
    assert_ids(encode(t, "b\n  ", 0), b, nl, sp, sp);
    quire_tokenizer_close(t);
    v = plamo_vocab();
    const int32_t two = add_piece(v, "  ", -10000), aaa = add_piece(v, "aaa", -10000);
    v->spec.break_repeats = 3; /* of spaces, too */
    t = build(v);
    assert_ids(encode(t, "  aaa   ", 0), two, aaa, two, BYTE + ' ');
    quire_tokenizer_close(t);
}

/* Every allocation of encoding fails, in the text before a run, in the run, and behind. */
static void encode_no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = { "ab", "abaaa", "aaa", "aaaaab" };
    for (size_t i = 0; i < LEN(texts); i++)
        for (size_t at = 1, done = 0; !done; at++) {
            struct fail_alloc f;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_tokenizer *t;
            struct vocab *v = plamo_vocab();
            v->spec.break_repeats = 3;
            fail_alloc_init(&f, 0, false);
            assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &t, &err));
            vocab_free(v);
            f.fail_at = f.calls + at;
            int32_t ids[8];
            size_t n;
            const quire_status s =
                quire_tokenizer_encode(t, texts[i], strlen(texts[i]), 0, ids, 8, &n, &err);
            done = f.calls < f.fail_at;
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
            quire_tokenizer_close(t);
            assert_int_equal(f.live_count, 0);
        }
}

static void bad_vocabularies(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    add_piece(v, "a", -10000001);
    expect_build_error(v, QUIRE_E_FORMAT, "the score of token 261 is -1000, beyond 1000");
    v = plamo_vocab();
    add_piece(v, "a", 1e8f);
    expect_build_error(v, QUIRE_E_FORMAT, "beyond 1000");
    v = plamo_vocab();
    v->tokens[BYTE + 0x41].type = QUIRE_TOKEN_UNUSED;
    expect_build_error(v, QUIRE_E_FORMAT, "no token for byte 0x41");
}

/* ---- Files */

static char folder[] = "/tmp/quire-plamo-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* tokenizer.jsonl with the special tokens, the bytes, and further lines. */
static void put_vocabulary(const char *more)
{
    static char text[1 << 14];
    size_t n = 0;
    for (int i = UNK; i <= OP; i++)
        n += (size_t)sprintf(text + n, "[\"%s\", 0.0, \"%s\"]\n", specials[i],
                             i == UNK   ? "UNKNOWN"
                             : i == BOS ? "CONTROL"
                                        : "NORMAL");
    for (int b = 0; b < 256; b++)
        n += (size_t)sprintf(text + n, "[\"<0x%02X>\", 0, \"BYTE\", 1, 2]\n", b);
    assert_true(n + strlen(more) < sizeof text);
    strcpy(text + n, more);
    put_file("tokenizer.jsonl", text);
}

/* Opens the folder; every allocation may fail. */
static void expect_error(quire_status status, const char *message)
{
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t = NULL;
    fail_alloc_init(&f, 0, false);
    struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
    const quire_status s = quire_tokenizer_open(folder, &p, &t, &err);
    if (s != status || !strstr(err.msg, message))
        fail_msg("%s \"%s\", not \"%s\"", quire_status_name(s), err.msg, message);
    assert_null(t);
    assert_int_equal(f.live_count, 0);
}

static struct quire_tokenizer *open_folder(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    if (quire_tokenizer_open(folder, NULL, &t, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return t;
}

#define ROLES "\"bos_token\":\"<|plamo:bos|>\",\"eos_token\":\"<|plamo:eos|>\""

static void lines(void **state)
{
    (void)state;
    /* scores are multiples of 1e-4, ties to even; lines may be blank */
    put_vocabulary(
        "\n[\"a\", -1.00005]\r\n \t\r\n[\"b\", -1]\n[\"ab\", -2.00004, \"NORMAL\"]\n"
        "[\"<|plamo:\", 0]\n[\"<|plamo:>\", 0]\n[\"<|plamo:|x\", 0]\n[\"<|plamo:|>\", 0]");
    put_file("tokenizer_config.json", "{" ROLES ",\"add_bos_token\":true}");
    struct quire_tokenizer *t = open_folder();
    assert_ids(encode(t, "ab", QUIRE_ENCODE_ADD_BOS), BOS, PIECE + 2);
    assert_ids(encode(t, "<|plamo:pad|>", QUIRE_ENCODE_PARSE_SPECIAL), PAD);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(quire_tokenizer_token_type(t, PIECE + 3 + i),
                         i < 3 ? QUIRE_TOKEN_NORMAL : QUIRE_TOKEN_CONTROL);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == EOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT) == OP);
    quire_tokenizer_close(t);
    put_vocabulary("[\"a\", -1]\n[\"aa\", -2.0001]\n[\" \", -1]\n[\"  a\", 0]\n");
    put_file("tokenizer_config.json", "{" ROLES ",\"break_around_repeated_chars_threshold\":null,"
                                      "\"break_around_consecutive_spaces_threshold\":2}");
    t = open_folder();
    assert_ids(encode(t, "aa  a", 0), PIECE, PIECE, PIECE + 2, PIECE + 2, PIECE);
    quire_tokenizer_close(t);
}

static void bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        { "[\"a\", ]\n", "tokenizer.jsonl, line 262: " },
        { "[\"a\", -1]\n[\"b\", -1", "tokenizer.jsonl, line 263: " },
        { "[\"abcde\"]\n", "line 262 is not a list of a text, a score and a type" },
        { "[1, -1]\n", "line 262 is not a list" },
        { "[\"a\", \"-1\"]\n", "line 262 is not a list" },
        { "{\"a\": -1}\n", "line 262 is not a list" },
        { "[\"a\", -1, 7]\n", "line 262: the type is not a string" },
        { "[\"\", -1]\n", "token 261 is empty" },
        { "[\"a\", -1]\n[\"a\", -2]\n", "tokens 261 and 262 have the same text \"a\"" },
        { "[\"a\", -1000.1]\n", "beyond 1000" },
        { "[\"<0xZZ>\", 0, \"BYTE\"]\n", "byte token 261" },
    };
    put_file("tokenizer_config.json", "{" ROLES "}");
    for (size_t i = 0; i < LEN(bad); i++) {
        put_vocabulary(bad[i].line);
        expect_error(QUIRE_E_FORMAT, bad[i].message);
    }
    put_file("tokenizer.jsonl", "\n[\"a\",0]x");
    expect_error(QUIRE_E_FORMAT, "line 2: ");
    put_file("tokenizer.jsonl", "[]");
    expect_error(QUIRE_E_FORMAT, "line 1 is not a list");
}

static void bad_breaks(void **state)
{
    (void)state;
    put_vocabulary("");
    static const char *const keys[] = { "break_around_repeated_chars_threshold",
                                        "break_around_consecutive_spaces_threshold" },
                             *const values[] = { "0", "-1", "\"2\"", "1.5" };
    for (size_t k = 0; k < LEN(keys); k++)
        for (size_t i = 0; i < LEN(values); i++) {
            char config[128];
            snprintf(config, sizeof config, "{\"%s\": %s}", keys[k], values[i]);
            put_file("tokenizer_config.json", config);
            expect_error(QUIRE_E_FORMAT, keys[k]);
        }
}

static void no_memory(void **state)
{
    (void)state;
    put_vocabulary("[\"a\", -1]\n");
    put_file("tokenizer_config.json", "{" ROLES "}");
    for (size_t at = 1, done = 0; !done; at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t = NULL;
        fail_alloc_init(&f, at, false);
        struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
        const quire_status s = quire_tokenizer_open(folder, &p, &t, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
}

/* A GGUF file with the special tokens, the bytes, "a" and "aa", all of one score; score: NAN for
 * none. add_bos: 2: a number. bos: an id */
static quire_status open_image(float score, uint32_t add_bos, uint32_t bos,
                               struct quire_tokenizer **t, struct quire_error *err)
{
    enum { N = PIECE + 2 };
    const bool scored = !isnan(score);
    struct image m;
    put_head(&m, 3, 0, 4u + scored);
    put_kv_u32(&m, KEY("bos_token_id"), bos);
    put_kv_str(&m, KEY("model"), "plamo2");
    put_kv_array(&m, KEY("tokens"), QR_GGUF_STRING, N);
    for (int i = 0; i < N; i++) {
        char byte[8];
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)(i - BYTE) & 0xFF);
        const char *text = i < BYTE ? specials[i] : i < PIECE ? byte : i == PIECE ? "a" : "aa";
        put_u64(&m, strlen(text));
        put(&m, text, strlen(text));
    }
    put_key(&m, KEY("add_bos_token"), add_bos == 2 ? QR_GGUF_U8 : QR_GGUF_BOOL);
    put_u8(&m, (uint8_t)add_bos);
    if (scored)
        put_kv_array(&m, KEY("scores"), QR_GGUF_F32, N);
    for (int i = 0; scored && i < N; i++)
        put(&m, &score, sizeof score);
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    const quire_status s = qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, t, err);
    drop(&m);
    return s;
}

static void gguf(void **state)
{
    (void)state;
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_image(-2, 0, BOS, &t, &err));
    assert_ids(encode(t, "aaab", QUIRE_ENCODE_ADD_BOS), PIECE + 1, PIECE, BYTE + 'b');
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS) == BOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == EOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_UNK) == UNK);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_PAD) == PAD);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_image(-2, 1, BOS, &t, &err));
    assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS), BOS, PIECE);
    quire_tokenizer_close(t);
    assert_status(QUIRE_E_FORMAT, open_image(NAN, 0, BOS, &t, &err));
    assert_non_null(strstr(err.msg, KEY("scores") " is missing"));
    assert_status(QUIRE_E_FORMAT, open_image(-1001, 0, BOS, &t, &err));
    assert_non_null(strstr(err.msg, "beyond 1000"));
    assert_status(QUIRE_E_FORMAT, open_image(-2, 0, PIECE + 2, &t, &err));
    assert_non_null(strstr(err.msg, KEY("bos_token_id")));
    assert_status(QUIRE_E_FORMAT, open_image(-2, 2, BOS, &t, &err));
    assert_non_null(strstr(err.msg, KEY("add_bos_token")));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("tokenizer.jsonl"));
    unlink(path_of("tokenizer_config.json"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts),
        cmocka_unit_test(ties),
        cmocka_unit_test(broken_character),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(runs),
        cmocka_unit_test(encode_no_memory),
        cmocka_unit_test(bad_vocabularies),
        cmocka_unit_test(lines),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(bad_breaks),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(gguf),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
