/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_pair.c - scores of pairs of texts: the tokenizer's template, token types, bad
 * arguments; the bits under any schedule. */
#include "engine_heads.h"

/* ids: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, then words */
static const char vocabulary[] =
    "{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"the\":4,\"fox\":5,\"hill\":6,\"who\":7,"
    "\"lives\":8,\"here\":9,\"?\":10,\"##es\":11}";
enum { CLS = 2, SEP = 3, THE = 4, FOX = 5, HILL = 6, WHO = 7, LIVES = 8, HERE = 9, MARK = 10 };

static const char bert_template[] =
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0"
    "}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\""
    ":0}}],\"pair\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}},{\"Sequence\":{\"id\":"
    "\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}},{\"Sequence\":{\"id"
    "\":\"B\",\"type_id\":1}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":1}}],"
    "\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[2],\"tokens\":[\"[CLS]\"]},\"[SEP]\":"
    "{\"id\":\"[SEP]\",\"ids\":[3],\"tokens\":[\"[SEP]\"]}}}";

/* Writes tokenizer.json and returns its path. */
static const char *write_tokenizer(const char *post_processor)
{
    static char path[128];
    char text[4096];
    snprintf(text, sizeof text,
             "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":2,\"content\":\"[CLS]\",\"special\":"
             "true},{\"id\":3,\"content\":\"[SEP]\",\"special\":true}],\"normalizer\":{\"type\":"
             "\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
             "\"strip_accents\":null,\"lowercase\":true},\"pre_tokenizer\":{\"type\":"
             "\"BertPreTokenizer\"},\"post_processor\":%s,\"decoder\":{\"type\":\"WordPiece\","
             "\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":"
             "\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,"
             "\"vocab\":%s}}",
             post_processor, vocabulary);
    write_file("tokenizer.json", text, strlen(text));
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    return path;
}

static struct quire_request_params pair_of(const char *a, const char *b)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.task = QUIRE_TASK_SCORE;
    p.raw_scores = true;
    p.text = a;
    p.text_size = a ? strlen(a) : 0;
    p.text_pair = b;
    p.text_pair_size = b ? strlen(b) : 0;
    return p;
}

/* Opens a cross-encoder with this post-processor. */
static void open_pairs(struct bench *b, const char *post_processor)
{
    struct folder f;
    make_bert(&f, 2);
    write_folder(&f, none, none);
    free_folder(&f);
    const struct quire_engine_params ep = bench_params(2);
    open_bench(b, dir, write_tokenizer(post_processor), &ep);
}

/* A pair of texts has the scores of these tokens and types. */
static void expect_tokens(struct bench *b, const struct quire_request_params *pair,
                          const int32_t *ids, const int32_t *types, size_t n)
{
    struct vector got, want;
    size_t counted;
    struct quire_request_params p = vector_of(QUIRE_TASK_SCORE, ids, n);
    p.raw_scores = true;
    p.token_type_ids = types;
    must_compute(b->engine, &p, &want);
    must_compute(b->engine, pair, &got);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.usage.prompt_tokens, n);
    assert_memory_equal(got.values, want.values, 2 * sizeof(float));
    assert_status(QUIRE_OK, quire_engine_count_tokens(b->engine, pair, &counted, NULL));
    assert_int_equal(counted, n);
}

static void test_bert_template(void **state)
{
    static const char *const processors[] = {
        bert_template, "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}"
    };
    static const int32_t ids[] = { CLS, WHO, LIVES, HERE, MARK, SEP, THE, FOX, SEP },
                         types[] = { 0, 0, 0, 0, 0, 0, 1, 1, 1 },
                         single[] = { CLS, THE, HILL, SEP };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 2; i++) {
        struct bench b;
        open_pairs(&b, processors[i]);
        const struct quire_request_params pair = pair_of("Who lives here?", "The fox"),
                                          one = pair_of("the hill", NULL);
        expect_tokens(&b, &pair, ids, types, 9);
        expect_tokens(&b, &one, single, NULL, 4); /* a classifier of single texts */
        struct quire_request_params bare = pair;
        bare.text_flags = 0; /* without the tokens at the ends */
        expect_tokens(&b, &bare, ids + 1, types + 1, 7);
        close_bench(&b);
    }
}

static void test_roberta_template(void **state)
{
    static const int32_t ids[] = { CLS, WHO, SEP, SEP, FOX, SEP };
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    open_pairs(&b, "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2],"
                   "\"trim_offsets\":true,\"add_prefix_space\":false}");
    const struct quire_request_params pair = pair_of("who", "fox");
    expect_tokens(&b, &pair, ids, NULL, 6);
    close_bench(&b);
}

/* A WordPiece vocabulary in GGUF: [CLS] A [SEP] B [SEP]. */
static void test_gguf_template(void **state)
{
    char path[4200];
    struct bench b;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_tokenizer_params tp = { .struct_size = sizeof tp };
    (void)state;
    if (!need_shared())
        skip();
    open_pairs(&b, bert_template);
    quire_engine_close(b.engine);
    quire_tokenizer_close(b.tokenizer);
    snprintf(path, sizeof path, "%s/tokenizers/ggml-vocab-bert-bge.gguf", shared_dir());
    if (quire_tokenizer_open(path, &tp, &b.tokenizer, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    open_bench_engine(&b, bench_params(1));
    const struct quire_request_params pair = pair_of("who lives here?", "the fox"),
                                      first = pair_of("who lives here?", NULL),
                                      second = pair_of("the fox", NULL);
    size_t n, a, c;
    assert_status(QUIRE_OK, quire_engine_count_tokens(b.engine, &pair, &n, NULL));
    assert_status(QUIRE_OK, quire_engine_count_tokens(b.engine, &first, &a, NULL));
    assert_status(QUIRE_OK, quire_engine_count_tokens(b.engine, &second, &c, NULL));
    assert_true(a == 6 && c == 4 && n == a + c - 1);
    close_bench(&b);
}

/* A SentencePiece vocabulary in GGUF with this template "rerank". */
static void open_template(struct bench *b, const char *text)
{
    static const char *const texts[] = { "<unk>", "<s>", "</s>", "\u2581", "a",
                                         "b",     "<",   "s",    ">",      "<|u|>" };
    enum { N = sizeof texts / sizeof *texts };
    struct image m;
    put_head(&m, 3, 0, 6);
    put_kv_str(&m, "tokenizer.ggml.model", "llama");
    put_kv_array(&m, "tokenizer.ggml.tokens", QR_GGUF_STRING, N);
    for (size_t i = 0; i < N; i++)
        put_str(&m, texts[i]);
    put_kv_array(&m, "tokenizer.ggml.scores", QR_GGUF_F32, N);
    for (size_t i = 0; i < N; i++)
        put_u32(&m, 0);
    put_kv_array(&m, "tokenizer.ggml.token_type", QR_GGUF_I32, N);
    for (size_t i = 0; i < N; i++)
        put_u32(&m, i < 3 || i == N - 1 ? QUIRE_TOKEN_CONTROL : QUIRE_TOKEN_NORMAL);
    put_key(&m, "tokenizer.ggml.add_space_prefix", QR_GGUF_BOOL);
    put_u8(&m, 0);
    put_kv_str(&m, "tokenizer.chat_template.rerank", text);
    open_pairs(b, bert_template);
    quire_engine_close(b->engine);
    quire_tokenizer_close(b->tokenizer);
    assert_status(QUIRE_OK,
                  quire_tokenizer_open_memory(m.data, m.size, NULL, 0, NULL, &b->tokenizer, NULL));
    open_bench_engine(b, bench_params(1));
    drop(&m);
}

/* Texts take the places of {query} and {document}; control tokens in them are text. */
static void test_rerank_template(void **state)
{
    static const int32_t ids[] = { 9, 4, 5, 1, 6, 7, 8, 5, 4, 5, 2 }, reversed[] = { 5, 4, 4 };
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    open_template(&b, "<|u|>{query}<s>{document}{query}</s>");
    const struct quire_request_params pair = pair_of("ab", "<s>b"), other = pair_of("a", "b");
    expect_tokens(&b, &pair, ids, NULL, 11);
    close_bench(&b);
    open_template(&b, "{document}{query}a");
    expect_tokens(&b, &other, reversed, NULL, 3);
    close_bench(&b);
    open_template(&b, "");
    refuse_request(b.engine, &pair, QUIRE_E_FORMAT, "the template \"rerank\" is empty");
    close_bench(&b);
    open_template(&b, "{query}{query}{query}{query}{query}{query}{query}{query}{query}{query}"
                      "{query}{query}{query}{query}{query}{query}{query}");
    refuse_request(b.engine, &pair, QUIRE_E_LIMIT, "has more than 16 parts");
    close_bench(&b);
}

static void test_bad_pairs(void **state)
{
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    open_pairs(&b, bert_template);
    const int32_t ids[] = { CLS, FOX, SEP };
    struct quire_request_params p = pair_of("who", "fox");
    p.text = NULL;
    p.text_size = 0;
    p.tokens = ids;
    p.n_tokens = 3;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "text_pair is given without text");
    p = pair_of("who", "");
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "text_pair is empty");
    p = pair_of("who", NULL);
    p.text_pair_size = 3;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "text_pair_size is given without");
    p = pair_of("", "fox");
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "text_size is 0");
    p = pair_of("who", "fox");
    p.text_flags = 64;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "text_flags");
    p = pair_of("who", "fox");
    p.dimensions = 1;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "dimensions");
    char longer[1200] = "";
    for (int i = 0; i < 130; i++)
        strcat(longer, "fox ");
    p = pair_of("who", longer);
    refuse_request(b.engine, &p, QUIRE_E_LIMIT, "134 tokens, the context is 128");
    close_bench(&b);

    /* templates of other forms: single texts only */
    static const char *const others[] = {
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
        "\"special_tokens\":{}}",
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
        "\"pair\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\","
        "\"type_id\":1}}],\"special_tokens\":{}}",
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
        "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":1}},{\"Sequence\":{\"id\":\"B\","
        "\"type_id\":0}}],\"special_tokens\":{}}",
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
        "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"none\","
        "\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}],\"special_tokens\":{}}",
        "null",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        open_pairs(&b, others[i]);
        p = pair_of("who", "fox");
        refuse_request(b.engine, &p, QUIRE_E_UNSUPPORTED, "no template for pairs");
        close_bench(&b);
    }
}

/* Scores and embeddings together, by 1 to 3 threads, have the bits of each alone. */
static void test_batch_invariance(void **state)
{
    enum { N = 14, LONGEST = 60 };
    static int32_t ids[N][LONGEST], types[N][LONGEST];
    static struct vector alone[N], got[N];
    struct quire_request_params params[N];
    quire_request_id request[N];
    struct bench b;
    struct quire_event ev = { .struct_size = sizeof ev };
    (void)state;
    if (!need_shared())
        skip();
    open_pairs(&b, bert_template);
    for (int i = 0; i < N; i++) {
        const size_t n = 1 + (size_t)i * 37 % LONGEST;
        for (size_t k = 0; k < n; k++) {
            ids[i][k] = 4 + (int32_t)(k * 31 + (size_t)i * 7) % 300;
            types[i][k] = k > n / 2;
        }
        params[i] = vector_of(i % 3 ? QUIRE_TASK_SCORE : QUIRE_TASK_EMBED, ids[i], n);
        if (i % 3 == 0)
            params[i].pooling = (enum quire_pooling)(i / 3 % 4);
        params[i].token_type_ids = i % 2 ? types[i] : NULL;
        must_compute(b.engine, &params[i], &alone[i]);
    }
    quire_engine_close(b.engine);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct quire_engine_params ep = bench_params(threads);
        ep.max_step_tokens = 150 * threads;
        ep.max_seqs = 5 * threads;
        open_bench_engine(&b, ep);
        for (int i = 0; i < N; i++) {
            got[i] = (struct vector){ .n = 0 };
            request[i] = submit(b.engine, &params[i]);
        }
        for (int done = 0; done < N;) {
            int i = 0;
            assert_status(QUIRE_OK, quire_engine_wait(b.engine, 0, -1, &ev, NULL));
            while (request[i] != ev.id)
                i++;
            take_vector_event(&ev, &got[i]);
            done += ev.kind == QUIRE_EVENT_DONE;
        }
        for (int i = 0; i < N; i++) {
            assert_int_equal(got[i].n, i % 3 ? 2 : WIDTH);
            assert_memory_equal(got[i].values, alone[i].values, got[i].n * sizeof(float));
        }
        assert_all_free(b.engine);
        if (threads < 3)
            quire_engine_close(b.engine);
    }
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert_template), cmocka_unit_test(test_roberta_template),
        cmocka_unit_test(test_gguf_template), cmocka_unit_test(test_rerank_template),
        cmocka_unit_test(test_bad_pairs),     cmocka_unit_test(test_batch_invariance),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
