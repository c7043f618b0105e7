/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_unigram.c - Unigram vocabularies: segmentations of random texts against a plain
 * search, the map of characters, white space, tokenizer.json and GGUF files. */
#include "test_tokenizer.h"
#include "tiny_model.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/open_gguf.h"
#include "tokenizer/open_huggingface.h"

#define SPACE QR_METASPACE

/* ---- A map of characters, built as a double array */

enum { MAX_UNITS = 4096, N_KEYS = 7 };

static const struct {
    const char *key, *text;
} keys[N_KEYS] = {
    /* in ascending order of bytes */
    { "\t", " " },
    { "A", "a" },
    { "e\xCC\x81", "\xC3\xA9" }, /* e with an accent, composed */
    { "\xC2\xA0", " " },
    { "\xC2\xAD", "" },        /* soft hyphen */
    { "\xEF\xAC\x81", "fi" },  /* ligature */
    { "\xEF\xAC\x81x", "fx" }, /* the longest key is taken */
};

struct map {
    uint32_t units[MAX_UNITS], n_units;
    bool used[MAX_UNITS];
    char texts[64];
    size_t n_texts;
    uint8_t bytes[4 + 4 * MAX_UNITS + 64];
    size_t size;
};

/* Places the children of a node, whose keys [first, last) agree in their first `depth` bytes. */
static void place(struct map *m, uint32_t node, uint32_t first, uint32_t last, size_t depth)
{
    uint32_t offset = 0, i;
    bool fits = false;
    while (!fits) {
        offset++;
        fits = true;
        for (i = first; i < last; i++) {
            const uint32_t at = node ^ offset ^ (uint8_t)keys[i].key[depth];
            assert_true(at < MAX_UNITS);
            fits = fits && !m->used[at];
        }
    }
    m->units[node] |= offset << 10;
    for (i = first; i < last; i++)
        m->used[node ^ offset ^ (uint8_t)keys[i].key[depth]] = true;
    for (i = first; i < last;) {
        const uint8_t byte = (uint8_t)keys[i].key[depth];
        const uint32_t at = node ^ offset ^ byte;
        uint32_t end = i;
        while (end < last && (uint8_t)keys[end].key[depth] == byte)
            end++;
        m->n_units = at >= m->n_units ? at + 1 : m->n_units;
        if (byte) {
            m->units[at] = byte;
            place(m, at, i, end, depth + 1);
        } else {
            m->units[node] |= 1u << 8;
            m->units[at] = 1u << 31 | (uint32_t)m->n_texts;
            const size_t n = strlen(keys[i].text) + 1;
            memcpy(m->texts + m->n_texts, keys[i].text, n);
            m->n_texts += n;
        }
        i = end;
    }
}

static const struct map *make_map(void)
{
    static struct map m;
    if (m.size)
        return &m;
    m.used[0] = true;
    place(&m, 0, 0, N_KEYS, 0);
    const uint32_t trie = m.n_units * 4;
    memcpy(m.bytes, &trie, 4);
    memcpy(m.bytes + 4, m.units, trie);
    memcpy(m.bytes + 4 + trie, m.texts, m.n_texts);
    m.size = 4 + trie + m.n_texts;
    return &m;
}

static void to_base64(const uint8_t *data, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t b1 = i + 1 < n ? data[i + 1] : 0, b2 = i + 2 < n ? data[i + 2] : 0;
        const uint32_t bits = (uint32_t)data[i] << 16 | b1 << 8 | b2;
        *out++ = digits[bits >> 18];
        *out++ = digits[bits >> 12 & 63];
        *out++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
        *out++ = i + 2 < n ? digits[bits & 63] : '=';
    }
    *out = 0;
}

/* ---- Vocabularies */

/* <unk>, </s>, a user-defined token, then pieces. */
static struct vocab *unigram_vocab(const char *const *pieces, const float *scores, size_t n)
{
    struct vocab *v = vocab_new(QR_VOCAB_UNIGRAM);
    v->spec.fuse_unk = true;
    v->spec.remove_extra_whitespaces = true;
    v->spec.prepend_scheme = QR_PREPEND_ALWAYS;
    v->spec.strip_prepended_space = true;
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "<unk>", QUIRE_TOKEN_UNKNOWN);
    v->spec.special[QUIRE_SPECIAL_EOS] = add_token(v, "</s>", QUIRE_TOKEN_CONTROL);
    v->spec.suffix_ids[v->spec.n_suffix_ids++] = 1;
    add_token(v, "<x>", QUIRE_TOKEN_USER_DEFINED);
    for (size_t i = 0; i < n; i++)
        add_piece(v, pieces[i], scores[i]);
    return v;
}

enum { UNK, EOS, USER, P_SPACE, P_A, P_B, P_AB, P_SPACE_A, P_E, P_F, P_I, P_FI, N_SMALL };
static const char *const small[] = { SPACE, "a", "b", "ab", SPACE "a", "\xC3\xA9", "f", "i", "fi" };
static const float small_scores[] = { -2, -3, -3, -4, -4.5f, -3, -5, -5, -6 };

static struct quire_tokenizer *small_tokenizer(bool with_map)
{
    struct vocab *v = unigram_vocab(small, small_scores, N_SMALL - P_SPACE);
    if (with_map) {
        const struct map *m = make_map();
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_int_equal(qr_charsmap_read(&v->spec, m->bytes, m->size, "map", &err), QUIRE_OK);
    }
    return build(v);
}

/* ---- Segmentation */

static void segmentation(void **state)
{
    (void)state;
    struct quire_tokenizer *t = small_tokenizer(false);
    assert_ids(encode(t, "ab", 0), P_SPACE, P_AB); /* -6 before -4.5 - 3 */
    assert_ids(encode(t, "aa", 0), P_SPACE_A, P_A);
    assert_ids(encode(t, "ab  ba ", QUIRE_ENCODE_ADD_EOS), P_SPACE, P_AB, P_SPACE, P_B, P_A, EOS);
    assert_ids(encode(t, "axyb", 0), P_SPACE_A, UNK, P_B); /* unknown characters fuse */
    assert_ids(encode(t, "<x>a", 0), USER, P_SPACE_A);
    assert_int_equal(encode(t, "   ", 0).n, 0);
    assert_int_equal(encode(t, "", 0).n, 0);
    const int32_t ids[] = { P_SPACE, P_AB, P_SPACE, P_B };
    char *text = decode(t, ids, 4, 0);
    assert_string_equal(text, "ab b");
    free(text);
    quire_tokenizer_close(t);
}

/* Best segmentation of s[0 .. end) by comparing every token with every place. Scores are multiples
 * of 1/8, so sums are exact; of equal ones the one with the longest last token counts. */
static double best(const struct vocab *v, const char *s, size_t end, double unknown, int32_t *ids,
                   size_t *n)
{
    static double sums[256];
    static int32_t last[256];
    static size_t begins[256];
    for (size_t at = 1; at <= end; at++) {
        bool any = false;
        for (size_t begin = 0; begin < at; begin++)
            for (int32_t id = P_SPACE; id <= (int32_t)v->spec.n_tokens; id++) {
                const bool token = id < (int32_t)v->spec.n_tokens;
                const size_t size = token ? v->tokens[id].size : 1;
                bool same = size == at - begin;
                if (same && token)
                    same = memcmp(v->tokens[id].text, s + begin, size) == 0;
                for (int32_t k = P_SPACE; same && !token && k < id; k++)
                    same = !(v->tokens[k].size == 1 && v->tokens[k].text[0] == s[begin]);
                const double sum =
                    (begin ? sums[begin] : 0) + (token ? v->tokens[id].score : unknown);
                if (!same || (any && sum <= sums[at]))
                    continue;
                any = true;
                sums[at] = sum;
                last[at] = token ? id : UNK;
                begins[at] = begin;
            }
    }
    size_t count = 0;
    for (size_t at = end; at; at = begins[at])
        if (!(last[at] == UNK && count && ids[255 - count + 1] == UNK))
            ids[255 - count++] = last[at];
    memmove(ids, ids + 256 - count, count * sizeof *ids);
    *n = count;
    return sums[end];
}

/* Random vocabularies over three letters, one of which may be unknown. */
static void random_texts(void **state)
{
    (void)state;
    static char texts[64][8];
    uint32_t random = 5;
    for (int round = 0; round < 200; round++) {
        const char *pieces[64];
        float scores[64];
        size_t n = 0;
        while (n < 1 + next_random(&random) % 30) {
            const size_t size = 1 + next_random(&random) % 6;
            for (size_t i = 0; i < size; i++)
                texts[n][i] = (char)('a' + next_random(&random) % 3);
            texts[n][size] = 0;
            pieces[n] = texts[n];
            scores[n] = -(float)(next_random(&random) % 160) / 8;
            bool twice = false;
            for (size_t i = 0; i < n; i++)
                twice = twice || strcmp(pieces[i], pieces[n]) == 0;
            n += !twice;
        }
        struct vocab *v = unigram_vocab(pieces, scores, n);
        v->spec.prepend_scheme = QR_PREPEND_NEVER;
        struct quire_tokenizer *t;
        assert_int_equal(qr_tokenizer_build(&v->spec, NULL, &t, NULL), QUIRE_OK);
        double lowest = 0;
        for (size_t i = 0; i < n; i++)
            lowest = i == 0 || scores[i] < lowest ? scores[i] : lowest;
        for (int k = 0; k < 20; k++) {
            char text[64];
            const size_t size = 1 + next_random(&random) % 60;
            for (size_t i = 0; i < size; i++)
                text[i] = (char)('a' + next_random(&random) % 3);
            int32_t want[256];
            size_t n_want;
            best(v, text, size, lowest - 10, want, &n_want);
            const struct ids got = encode_bytes(t, text, size, 0);
            assert_int_equal(got.n, n_want);
            assert_memory_equal(got.id, want, n_want * sizeof *want);
        }
        quire_tokenizer_close(t);
        vocab_free(v);
    }
}

/* ---- Normalization */

static void map(void **state)
{
    (void)state;
    struct quire_tokenizer *t = small_tokenizer(true);
    assert_ids(encode(t, "A", 0), P_SPACE_A);
    assert_ids(encode(t, "Ae\xCC\x81", 0), P_SPACE_A, P_E);
    assert_ids(encode(t,
                      "a\xC2\xAD"
                      "b",
                      0),
               P_SPACE, P_AB);
    assert_ids(encode(t, "\xEF\xAC\x81", 0), P_SPACE, P_FI);
    assert_ids(encode(t, "\xEF\xAC\x81x", 0), P_SPACE, P_F, UNK);
    assert_ids(encode(t, "\t b\xC2\xA0 \tA\t", 0), P_SPACE, P_B, P_SPACE_A);
    assert_ids(encode(t, "eb", 0), P_SPACE, UNK, P_B); /* a key that goes on otherwise */
    quire_tokenizer_close(t);
}

/* Every truncation and every changed byte: refused, or text is encoded. */
static void damaged_maps(void **state)
{
    (void)state;
    const struct map *m = make_map();
    static uint8_t bytes[sizeof m->bytes];
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t at = 0; at < m->size; at++)
        for (int kind = 0; kind < 3; kind++) {
            struct vocab *v = unigram_vocab(small, small_scores, N_SMALL - P_SPACE);
            memcpy(bytes, m->bytes, m->size);
            if (kind)
                bytes[at] ^= kind == 1 ? 0xFF : 0x01;
            const quire_status s =
                qr_charsmap_read(&v->spec, bytes, kind ? m->size : at, "map", &err);
            assert_true(s == QUIRE_OK || s == QUIRE_E_FORMAT);
            if (s != QUIRE_OK) {
                vocab_free(v);
                continue;
            }
            struct quire_tokenizer *t = build(v);
            int32_t ids[64];
            size_t n;
            static const char text[] = "A\tb e\xCC\x81 \xEF\xAC\x81x\xC2\xAD \xC2";
            const quire_status e =
                quire_tokenizer_encode(t, text, strlen(text), 0, ids, 64, &n, &err);
            assert_int_equal(e, QUIRE_OK);
            quire_tokenizer_close(t);
        }
}

/* ---- Files */

#define VOCAB                                                                                      \
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"</s>\",0.0],"        \
    "[\"\u2581\",-2],[\"a\",-3.5],[\"b\",-3],[\"\u2581a\",-4]]}"
#define ADDED                                                                                      \
    "\"added_tokens\":[{\"id\":1,\"content\":\"</s>\",\"special\":true},"                          \
    "{\"id\":6,\"content\":\"<extra_id_0>\",\"special\":true}]"
#define METASPACE "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\"}"
#define END                                                                                        \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\"}" \
    "},"                                                                                           \
    "{\"SpecialToken\":{\"id\":\"</s>\"}}],\"special_tokens\":{\"</s>\":{\"ids\":[1]}}}"

static struct quire_tokenizer *open_json(const char *json, quire_status expected, const char *what)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t = NULL;
    const quire_status s =
        qr_tokenizer_open_json_memory(json, strlen(json), NULL, 0, NULL, &t, &err);
    if (s != expected || (what && !strstr(err.msg, what)))
        print_error("%s: %s\n", quire_status_name(s), err.msg);
    assert_int_equal(s, expected);
    assert_true(!what || strstr(err.msg, what));
    return t;
}

/* The forms that converters write: words, or runs of spaces and the end. */
static void json_files(void **state)
{
    (void)state;
    static char base64[2 * sizeof((struct map *)0)->bytes], json[sizeof base64 + 4096];
    const struct map *m = make_map();
    to_base64(m->bytes, m->size, base64);
    const char *const forms[] = {
        "{" VOCAB "," ADDED "," END ",\"normalizer\":{\"type\":\"Precompiled\","
        "\"precompiled_charsmap\":\"%s\"},\"pre_tokenizer\":{\"type\":\"Sequence\","
        "\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},{\"type\":\"Metaspace\","
        "\"replacement\":\"\u2581\",\"add_prefix_space\":true}]}}",
        "{" VOCAB "," ADDED "," END "," METASPACE ",\"normalizer\":{\"type\":\"Sequence\","
        "\"normalizers\":[{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"},"
        "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true},{\"type\":\"Replace\","
        "\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"\u2581\"}]}}",
        "{" VOCAB "," ADDED "," END "," METASPACE ",\"normalizer\":{\"type\":\"Sequence\","
        "\"normalizers\":[{\"type\":\"Strip\"},{\"type\":\"Precompiled\",\"precompiled_charsmap\":"
        "\"%s\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]}}"
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(json, sizeof json, forms[i], base64);
        struct quire_tokenizer *t = open_json(json, QUIRE_OK, NULL);
        assert_ids(encode(t, "  A\tb  b ", QUIRE_ENCODE_ADD_EOS), 5, 2, 4, 2, 4, 1);
        assert_ids(encode(t, "a<extra_id_0> a", QUIRE_ENCODE_PARSE_SPECIAL), 5, 6, 5);
        assert_ids(encode(t, "zza", 0), 2, 0, 3);
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 1);
        quire_tokenizer_close(t);
    }
}

/* Runs of spaces alone are replaced: one space at the end stays. With Strip, all white space at the
 * end goes, and none elsewhere. */
static void json_spaces(void **state)
{
    (void)state;
    static const char replace[] = "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},"
                                  "\"content\":\" \"}";
    static const char right[] = "{\"type\":\"Strip\",\"strip_left\":false}";
    static const char both[] = "{\"type\":\"Strip\"}";
    static const struct {
        const char *first, *second;
        int32_t ids[8], n;
    } forms[] = { { replace, NULL, { 5, 2, 4, 0, 2 }, 5 },
                  { right, replace, { 5, 2, 4 }, 3 },
                  { both, replace, { 5, 2, 4 }, 3 } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char json[2048];
        snprintf(json, sizeof json,
                 "{" VOCAB "," ADDED "," END "," METASPACE
                 ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[%s%s%s]}}",
                 forms[i].first, forms[i].second ? "," : "",
                 forms[i].second ? forms[i].second : "");
        struct quire_tokenizer *t = open_json(json, QUIRE_OK, NULL);
        const struct ids got = encode(t, "  a   b\n  ", 0);
        assert_int_equal(got.n, forms[i].n);
        assert_memory_equal(got.id, forms[i].ids, got.n * sizeof *got.id);
        assert_int_equal(encode(t, "   ", 0).n, i == 0);
        quire_tokenizer_close(t);
    }
}

static void bad_json(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        quire_status status;
        const char *what;
    } cases[] = {
        { "{\"model\":{\"type\":\"Unigram\"}}", QUIRE_E_FORMAT, "model.vocab is not an array" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", QUIRE_E_FORMAT,
          "model.vocab[0]" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",\"b\"]]}}", QUIRE_E_FORMAT,
          "model.vocab[0]" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}}", QUIRE_E_FORMAT,
          "model.unk_id" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}," METASPACE "}", QUIRE_E_FORMAT,
          "no unknown token" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",1e39]]}," METASPACE "}",
          QUIRE_E_FORMAT, "score of token 0" },
        { "{" VOCAB "}", QUIRE_E_UNSUPPORTED, "without U+2581" },
        { "{" VOCAB "," METASPACE ",\"normalizer\":{\"type\":\"Strip\"}}", QUIRE_E_UNSUPPORTED,
          "Strip without Replace" },
        { "{" VOCAB "," METASPACE ",\"normalizer\":{\"type\":\"Lowercase\"}}", QUIRE_E_UNSUPPORTED,
          "Lowercase" },
        { "{" VOCAB "," METASPACE ",\"normalizer\":{\"type\":\"Precompiled\","
          "\"precompiled_charsmap\":\"a\"}}",
          QUIRE_E_FORMAT, "base64" },
        { "{" VOCAB "," METASPACE ",\"normalizer\":{\"type\":\"Precompiled\","
          "\"precompiled_charsmap\":\"AAAA\"}}",
          QUIRE_E_FORMAT, "no map" },
        { "{" VOCAB "," METASPACE ",\"normalizer\":{\"type\":\"Precompiled\","
          "\"precompiled_charsmap\":1}}",
          QUIRE_E_FORMAT, "not a string" },
        { "{" VOCAB ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
          "{\"type\":\"WhitespaceSplit\"},{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
          "\"prepend_scheme\":\"never\"}]}}",
          QUIRE_E_UNSUPPORTED, "WhitespaceSplit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_null(open_json(cases[i].json, cases[i].status, cases[i].what));
}

/* A GGUF file of model t5; its map changes "A" to "a". */
static void gguf_file(void **state)
{
    (void)state;
    struct gguf_image g = { 0 };
    struct fuzz_buffer file = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    (void)tiny_vocab(&g, TINY_UNIGRAM);
    gguf_finish(&g, &file);
    assert_int_equal(qr_tokenizer_open_gguf_memory(file.data, file.size, NULL, &t, &err), QUIRE_OK);
    const int32_t the = quire_tokenizer_find(t, SPACE "the", 6),
                  a = quire_tokenizer_find(t, "a", 1);
    assert_true(the > 0 && a > 0);
    assert_ids(encode(t,
                      "the"
                      "Aa",
                      QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS),
               the, a, a, 2);
    quire_tokenizer_close(t);
    fuzz_buffer_free(&file);
}

/* Every allocation of the build and of encoding fails. */
static void allocations(void **state)
{
    (void)state;
    struct fail_alloc f;
    const struct map *m = make_map();
    fail_alloc_init(&f, 0, true);
    for (size_t at = 1, done = 0; !done; at++) {
        struct vocab *v = unigram_vocab(small, small_scores, N_SMALL - P_SPACE);
        struct quire_tokenizer *t = NULL;
        struct quire_error err = QUIRE_ERROR_INIT;
        int32_t ids[16];
        size_t n;
        assert_int_equal(qr_charsmap_read(&v->spec, m->bytes, m->size, "map", &err), QUIRE_OK);
        f.calls = 0;
        f.fail_at = at;
        quire_status s = qr_tokenizer_build(&v->spec, &f.hooks, &t, &err);
        if (s == QUIRE_OK)
            s = quire_tokenizer_encode(t, "A ab", 4, 0, ids, 16, &n, &err);
        assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
        done = s == QUIRE_OK && f.calls < at;
        f.fail_at = 0;
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
        vocab_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segmentation), cmocka_unit_test(random_texts),
        cmocka_unit_test(map),          cmocka_unit_test(damaged_maps),
        cmocka_unit_test(json_files),   cmocka_unit_test(json_spaces),
        cmocka_unit_test(bad_json),     cmocka_unit_test(gguf_file),
        cmocka_unit_test(allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
