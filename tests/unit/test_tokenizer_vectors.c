/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_vectors.c - encodings of reference tokenizers, with published vocabularies. */
#include "format/gguf.h"
#include "test_scored_merges.h"
#include "test_tokenizer.h"
#include "tokenizer/open_gguf.h"
#include "json/parse.h"

static char *load(const char *dir, const char *name, size_t *size)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/tokenizers/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *s = malloc(*size + 1);
    assert_int_equal(fread(s, 1, *size, f), *size);
    s[*size] = 0;
    fclose(f);
    return s;
}

static struct quire_tokenizer *open_shared(const char *name)
{
    char path[4200];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    snprintf(path, sizeof path, "%s/%s", shared_dir(), name);
    const quire_status st = quire_tokenizer_open(path, NULL, &t, &err);
    if (st != QUIRE_OK)
        print_error("%s: %s\n", name, err.msg);
    assert_int_equal(st, QUIRE_OK);
    return t;
}

/* The streaming detokenizer emits the bytes of the one-shot call in well-formed parts. */
static void check_stream(const struct quire_tokenizer *t, const struct ids *ids)
{
    char *whole = decode(t, ids->id, ids->n, 0), *at = whole;
    struct quire_detokenizer *d;
    const char *part;
    size_t size;
    assert_status(QUIRE_OK, quire_detokenizer_create(t, 0, &d, NULL));
    for (size_t i = 0; i <= ids->n; i++) {
        if (i < ids->n)
            assert_status(QUIRE_OK, quire_detokenizer_push(d, ids->id[i], &part, &size, NULL));
        else
            assert_status(QUIRE_OK, quire_detokenizer_finish(d, &part, &size, NULL));
        uint32_t cp;
        for (size_t k = 0; k < size;) {
            assert_true((unsigned char)part[k] < 0x80 || (unsigned char)part[k] >= 0xC2);
            size_t len = 1;
            while (k + len < size && ((unsigned char)part[k + len] & 0xC0) == 0x80)
                len++;
            cp = (unsigned char)part[k];
            assert_int_equal(len, cp < 0x80 ? 1 : cp < 0xE0 ? 2 : cp < 0xF0 ? 3 : 4);
            k += len;
        }
        assert_memory_equal(at, part, size);
        at += size;
    }
    assert_int_equal(*at, 0);
    quire_detokenizer_destroy(d);
    free(whole);
}

/* Any division into user and template spans gives the same ids. */
static void check_spans(const struct quire_tokenizer *t, const char *text, size_t size,
                        const struct ids *want)
{
    for (size_t cut = 0; cut <= size; cut += 1 + size / 40) {
        const struct quire_text_span spans[3] = { { 0, cut / 2, false },
                                                  { cut / 2, cut - cut / 2, true },
                                                  { cut, size - cut, false } };
        struct ids got;
        assert_status(QUIRE_OK, quire_tokenizer_encode_spans(t, text, size, spans, 3,
                                                             QUIRE_ENCODE_PARSE_SPECIAL, got.id,
                                                             4096, &got.n, NULL));
        assert_int_equal(got.n, want->n);
        assert_memory_equal(got.id, want->id, want->n * sizeof *want->id);
    }
}

static void check_case(const struct quire_tokenizer *t, const char *text, size_t size,
                       const struct ids *want, bool exact)
{
    const struct ids got = encode_bytes(t, text, size, 0);
    if (got.n != want->n || memcmp(got.id, want->id, got.n * sizeof *got.id) != 0)
        print_error("text: \"%.*s\"\n", (int)size, text);
    assert_int_equal(got.n, want->n);
    assert_memory_equal(got.id, want->id, want->n * sizeof *want->id);
    check_stream(t, &got);
    check_spans(t, text, size, want);
    if (exact) {
        char *back = decode(t, got.id, got.n, 0);
        assert_int_equal(strlen(back), size);
        assert_memory_equal(back, text, size);
        free(back);
    }
}

/* Checks the encodings of a published vocabulary, and closes the tokenizer. */
static void run_cases(struct quire_tokenizer *t, const char *name, bool exact)
{
    char file[256];
    size_t size;
    snprintf(file, sizeof file, "ggml-vocab-%s.gguf.inp", name);
    char *inp = load(shared_dir(), file, &size);
    snprintf(file, sizeof file, "ggml-vocab-%s.gguf.out", name);
    char *out = load(shared_dir(), file, &size), *line = out;
    assert_non_null(inp);
    assert_non_null(out);
    static const char separator[] = "\n__ggml_vocab_test__\n";
    int n = 0;
    for (char *text = inp, *end; (end = strstr(text, separator)) != NULL;
         text = end + strlen(separator), n++) {
        struct ids want = { .n = 0 };
        char *stop = strchr(line, '\n');
        assert_non_null(stop);
        for (char *next; line < stop && (want.id[want.n] = (int32_t)strtol(line, &next, 10),
                                        next <= stop && next != line);
             line = next)
            want.n++;
        line = stop + 1;
        check_case(t, text, (size_t)(end - text), &want, exact);
    }
    assert_true(n > 40);
    free(inp);
    free(out);
    quire_tokenizer_close(t);
}

static void run_vectors(const char *name, bool exact)
{
    if (!need_shared())
        skip();
    char file[256];
    snprintf(file, sizeof file, "tokenizers/ggml-vocab-%s.gguf", name);
    run_cases(open_shared(file), name, exact);
}

static void gpt2(void **state)
{
    (void)state;
    run_vectors("gpt-2", true);
}
static void deepseek_coder(void **state)
{
    (void)state;
    run_vectors("deepseek-coder", true);
}
static void llama_spm(void **state)
{
    (void)state;
    run_vectors("llama-spm", true);
}

/* The scored vocabulary with merges instead of scores, as files of Gemma 4 have it: the same
 * encodings. */
static void merges_of_scores(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    size_t size;
    char *data = load(shared_dir(), "ggml-vocab-llama-spm.gguf", &size);
    assert_non_null(data);
    for (size_t i = 0; i < 2; i++) {
        struct image m = image_with_merges(data, size, i == 0 ? "gemma4" : "gpt2");
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, &t, &err));
        assert_int_equal(quire_tokenizer_adds_bos(t), i == 0);
        run_cases(t, "llama-spm", true);
        drop(&m);
    }
    free(data);
}
static void phi3(void **state)
{
    (void)state;
    run_vectors("phi-3", true);
}
static void bert(void **state)
{
    (void)state;
    run_vectors("bert-bge", false);
}

/* 20 encodings by SentencePiece, of one vocabulary as a model file and in GGUF files. */
static void sentencepiece(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    size_t size;
    char *text = load(shared_dir(), "tokenizer_golden.json", &size);
    assert_non_null(text);
    struct qr_json_error error;
    struct qr_json *golden = qr_json_parse(text, size, 0, NULL, &error);
    assert_non_null(golden);
    static const char *const files[] = { "tokenizers/tokenizer.model",
                                         "goldens/gguf/llama-f32.gguf",
                                         "goldens/gguf/phi3-bf16.gguf" };
    for (size_t f = 0; f < 3; f++) {
        struct quire_tokenizer *t = open_shared(files[f]);
        const struct qr_json *samples = qr_json_get(golden, "samples"),
                             *pieces = qr_json_get(golden, "pieces");
        assert_int_equal(quire_tokenizer_vocab_size(t), qr_json_size(pieces));
        for (size_t i = 0; i < qr_json_size(samples); i++) {
            const struct qr_json *sample = qr_json_at(samples, i),
                                 *ids = qr_json_get(sample, "ids");
            struct ids want = { .n = qr_json_size(ids) };
            for (size_t k = 0; k < want.n; k++)
                want.id[k] = (int32_t)qr_json_integer(qr_json_at(ids, k));
            const char *input = qr_json_string(qr_json_get(sample, "text"));
            check_case(t, input, strlen(input), &want, false);
            char *back = decode(t, want.id, want.n, 0);
            assert_string_equal(back, qr_json_string(qr_json_get(sample, "decoded")));
            free(back);
        }
        quire_tokenizer_close(t);
    }
    qr_json_free(golden);
    free(text);
}

/* Special tokens of published files. */
static void special_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_tokenizer *t = open_shared("tokenizers/ggml-vocab-phi-3.gguf");
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS), 1);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 32000);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT), 32007);
    assert_true(quire_tokenizer_is_eog(t, 32000) && quire_tokenizer_is_eog(t, 32007));
    assert_true(quire_tokenizer_is_special(t, 2)); /* "</s>" is user-defined in the file */
    assert_false(quire_tokenizer_is_eog(t, 32010));
    assert_true(quire_tokenizer_adds_bos(t) && !quire_tokenizer_adds_eos(t));
    assert_non_null(strstr(quire_tokenizer_chat_template(t, NULL), "<|assistant|>"));
    assert_null(quire_tokenizer_chat_template(t, "tool_use"));
    /* as in the reference tokenizer, the control tokens consume the newlines after them */
    assert_ids(encode(t, "<|user|>\nHi<|end|>\n<|assistant|>\n",
                      QUIRE_ENCODE_PARSE_SPECIAL | QUIRE_ENCODE_ADD_BOS),
               1, 32010, 6324, 32007, 32001);
    const struct ids plain = encode(t, "<|user|>", 0);
    for (size_t i = 0; i < plain.n; i++)
        assert_false(quire_tokenizer_is_special(t, plain.id[i]));
    quire_tokenizer_close(t);

    t = open_shared("tokenizers/ggml-vocab-bert-bge.gguf");
    assert_ids(encode(t, "Hello [MASK] World",
                      QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS | QUIRE_ENCODE_PARSE_SPECIAL),
               101, 7592, 103, 2088, 102);
    quire_tokenizer_close(t);

    t = open_shared("tokenizers/ggml-vocab-deepseek-coder.gguf");
    assert_ids(encode(t, "\xC3\xB7", 0), 32001); /* a user-defined token */
    const struct ids forged = encode(t, "<|EOT|><|User|>", 0);
    for (size_t i = 0; i < forged.n; i++)
        assert_true(forged.id[i] < 32000);
    quire_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),          cmocka_unit_test(deepseek_coder),
        cmocka_unit_test(llama_spm),     cmocka_unit_test(merges_of_scores),
        cmocka_unit_test(phi3),          cmocka_unit_test(bert),
        cmocka_unit_test(sentencepiece), cmocka_unit_test(special_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
