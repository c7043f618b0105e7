/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_score.c - classification heads: scores of the engine against double precision from
 * the reference hidden states, pairs of texts, files that are refused. The heads have generated
 * weights. */
#include "test_scores.h"

/* ---- Checkpoints with heads */

/* BERT's weights as RoBERTa: positions begin after the padding token's row. */
static void make_roberta(struct folder *f, uint32_t labels)
{
    read_folder(f, "bert");
    rename_all(f, "", "roberta.");
    struct tensor *old = find(f, "roberta.embeddings.position_embeddings.weight"),
                  *new = add(f, "roberta.embeddings.position_embeddings.weight", 130, WIDTH);
    memcpy(new->data + 2 * WIDTH, old->data, old->n * sizeof(float));
    snprintf(old->name, sizeof old->name, "roberta.embeddings.position_ids");
    replace(f->config, 1 << 16, "\"model_type\": \"bert\"", "\"model_type\": \"xlm-roberta\"");
    replace(f->config, 1 << 16, "\"max_position_embeddings\": 128",
            "\"max_position_embeddings\": 130");
    replace(f->config, 1 << 16, "\"pad_token_id\": 0", "\"pad_token_id\": 1");
    set_labels(f, "XLMRobertaForSequenceClassification", labels);
    add_seeded(f, "classifier.dense.weight", WIDTH, WIDTH, 3);
    add_seeded(f, "classifier.dense.bias", 0, WIDTH, 4);
    add_seeded(f, "classifier.out_proj.weight", labels, WIDTH, 5);
    add_seeded(f, "classifier.out_proj.bias", 0, labels, 9);
}

/* ---- Heads in double precision */

static void roberta_head(struct folder *f, const double *cls, double *out)
{
    double mid[WIDTH];
    linear(find(f, "classifier.dense.weight"), find(f, "classifier.dense.bias"), cls, mid);
    for (int i = 0; i < WIDTH; i++)
        mid[i] = tanh(mid[i]);
    linear(find(f, "classifier.out_proj.weight"), find(f, "classifier.out_proj.bias"), mid, out);
}

static void golden_pooler(const char *name, double out[WIDTH])
{
    float pooler[WIDTH];
    assert_true(read_golden("bert", name, pooler, sizeof pooler));
    for (int i = 0; i < WIDTH; i++)
        out[i] = pooler[i];
}

static void test_bert(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (uint32_t labels = 1; labels <= MAX_LABELS; labels += 2) {
        struct folder f;
        struct bench b;
        int32_t ids[100], types[33];
        int64_t wide[33];
        double x[WIDTH], want[MAX_LABELS];
        make_bert(&f, labels);
        write_folder(&f, none, none);
        const struct quire_engine_params ep = bench_params(2);
        open_bench(&b, dir, NULL, &ep);
        const struct tensor *w = find(&f, "classifier.weight"), *bias = find(&f, "classifier.bias");
        for (size_t i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof name, "pooler.%u", lengths[i]);
            golden_pooler(name, x);
            golden_ids("bert", lengths[i], ids);
            linear(w, bias, x, want);
            check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, labels,
                         labels == 1);
        }
        assert_true(read_golden("bert", "tt.ids", wide, sizeof wide));
        for (int i = 0; i < 33; i++)
            ids[i] = (int32_t)wide[i];
        assert_true(read_golden("bert", "tt.token_type_ids", wide, sizeof wide));
        for (int i = 0; i < 33; i++)
            types[i] = (int32_t)wide[i];
        golden_pooler("tt.pooler", x);
        linear(w, bias, x, want);
        struct quire_request_params p = vector_of(QUIRE_TASK_SCORE, ids, 33);
        p.token_type_ids = types;
        check_scores(&b, p, want, labels, labels == 1);
        close_bench(&b);
        free_folder(&f);
    }
}

static void test_roberta(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct folder f;
    struct bench b;
    int32_t ids[100];
    double x[WIDTH], want[MAX_LABELS];
    make_roberta(&f, 1);
    write_folder(&f, none, none);
    const struct quire_engine_params ep = bench_params(1);
    open_bench(&b, dir, NULL, &ep);
    for (size_t i = 0; i < 4; i++) {
        golden_ids("bert", lengths[i], ids);
        golden_state("bert", lengths[i], false, x);
        roberta_head(&f, x, want);
        check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, 1, true);
    }
    close_bench(&b);
    free_folder(&f);
}

static void test_modernbert(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int mean = 0; mean < 2; mean++) {
        struct folder f;
        struct bench b;
        int32_t ids[100];
        double x[WIDTH], want[MAX_LABELS];
        make_modernbert(&f, 3, mean);
        write_folder(&f, none, none);
        const struct quire_engine_params ep = bench_params(3);
        open_bench(&b, dir, NULL, &ep);
        struct quire_model_info info = { .struct_size = sizeof info };
        assert_status(QUIRE_OK, quire_model_get_info(b.model, &info));
        assert_true(info.n_labels == 3 && !info.sigmoid_scores && !info.has_logits);
        for (size_t i = 0; i < 4; i++) {
            golden_ids("modernbert", lengths[i], ids);
            golden_state("modernbert", lengths[i], mean, x);
            modernbert_head(&f, x, want);
            check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, 3, false);
        }
        close_bench(&b);
        free_folder(&f);
    }
}

/* ---- Decoders */

static void make_qwen3(struct folder *f, uint32_t labels)
{
    read_folder(f, "qwen3_embedding");
    rename_all(f, "", "model.");
    set_labels(f, "Qwen3ForSequenceClassification", labels);
    add_seeded(f, "score.weight", labels, WIDTH, 5);
}

/* The head reads the state of the last token. Such a model generates no text. */
static void test_decoder(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (uint32_t labels = 1; labels <= MAX_LABELS; labels += 2) {
        struct folder f;
        struct bench b;
        int32_t ids[100];
        double x[WIDTH], want[MAX_LABELS];
        make_qwen3(&f, labels);
        write_folder(&f, none, none);
        const struct quire_engine_params ep = bench_params(2);
        open_bench(&b, dir, NULL, &ep);
        struct quire_model_info info = { .struct_size = sizeof info };
        assert_status(QUIRE_OK, quire_model_get_info(b.model, &info));
        assert_true(info.n_labels == labels && !info.has_logits);
        for (size_t i = 0; i < 4; i++) {
            golden_ids("qwen3_embedding", lengths[i], ids);
            golden_last_state("qwen3_embedding", lengths[i], x);
            linear(find(&f, "score.weight"), NULL, x, want);
            check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, labels,
                         labels == 1);
        }
        struct quire_request_params p;
        quire_request_params_init(&p, sizeof p);
        p.tokens = ids;
        p.n_tokens = 7;
        quire_request_id id;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_int_equal(quire_engine_submit(b.engine, &p, &id, &err), QUIRE_E_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "a classifier without an LM head"));
        close_bench(&b);
        free_folder(&f);
    }
}

/* ---- Files */

static quire_status open_written(const struct folder *f, size_t skip, struct quire_error *err)
{
    struct quire_model *model;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = dir;
    write_folder(f, skip, none);
    const quire_status s = quire_model_open(&mp, &model, err);
    if (s == QUIRE_OK)
        assert_int_equal(quire_model_close(model), QUIRE_OK);
    return s;
}

static void expect_refused(const struct folder *f, size_t skip, quire_status status,
                           const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = open_written(f, skip, &err);
    if (s != status || !strstr(err.msg, text))
        fail_msg("%s \"%s\", not %s", quire_status_name(s), err.msg, text);
}

static void expect_config(const char *from, const char *to, quire_status status, const char *text)
{
    struct folder f;
    make_bert(&f, 2);
    assert_non_null(strstr(f.config, from));
    replace(f.config, 1 << 16, from, to);
    expect_refused(&f, none, status, text);
    free_folder(&f);
}

static void test_bad_files(void **state)
{
    struct folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)state;
    if (!need_shared())
        skip();
    make_bert(&f, 2);
    assert_status(QUIRE_OK, open_written(&f, none, &err));
    const size_t weight = (size_t)(find(&f, "classifier.weight") - f.t),
                 pooler = (size_t)(find(&f, "bert.pooler.dense.weight") - f.t);
    expect_refused(&f, weight, QUIRE_E_FORMAT, "classifier.weight is missing");
    expect_refused(&f, pooler, QUIRE_E_FORMAT, "pooler.dense.weight is missing");
    free_folder(&f);
    /* heads of other tasks have no role */
    expect_config("BertForSequenceClassification", "BertForTokenClassification",
                  QUIRE_E_UNSUPPORTED, "classifier.weight does not belong");
    expect_config("\"1\": \"LABEL_1\"", "\"1\": \"LABEL_1\", \"2\": \"x\"", QUIRE_E_FORMAT,
                  "classifier.weight");
    expect_config("\"0\": \"LABEL_0\", \"1\": \"LABEL_1\"", "", QUIRE_E_FORMAT,
                  "number of labels is 0");
    expect_config("\"hidden_size\"",
                  "\"sentence_transformers\": {\"activation_fn\": \"torch.nn.Softmax\"}, "
                  "\"hidden_size\"",
                  QUIRE_E_UNSUPPORTED, "torch.nn.Softmax");
    expect_config("\"hidden_size\"",
                  "\"sbert_ce_default_activation_function\": \"x.Tanh\", \"hidden_size\"",
                  QUIRE_E_UNSUPPORTED, "x.Tanh");

    make_roberta(&f, 1);
    expect_refused(&f, (size_t)(find(&f, "classifier.dense.weight") - f.t), QUIRE_E_FORMAT,
                   "classifier.dense.weight is missing");
    free_folder(&f);
    make_modernbert(&f, 1, false);
    replace(f.config, 1 << 16, "\"classifier_pooling\": \"cls\"",
            "\"classifier_pooling\": \"late\"");
    expect_refused(&f, none, QUIRE_E_UNSUPPORTED, "classifier_pooling late");
    free_folder(&f);

    make_qwen3(&f, 2);
    const size_t score = (size_t)(find(&f, "score.weight") - f.t);
    expect_refused(&f, score, QUIRE_E_FORMAT, "score.weight is missing");
    replace(f.config, 1 << 16, "\"1\": \"LABEL_1\"", "\"1\": \"LABEL_1\", \"2\": \"x\"");
    expect_refused(&f, none, QUIRE_E_FORMAT, "score.weight");
    replace(f.config, 1 << 16, "Qwen3ForSequenceClassification", "Qwen3ForCausalLM");
    expect_refused(&f, none, QUIRE_E_UNSUPPORTED, "score.weight does not belong");
    free_folder(&f);
}

/* The activation that config.json names, of one label. */
static void test_activation(void **state)
{
    static const struct {
        const char *keys;
        bool sigmoid;
    } cases[] = {
        { "", true },
        { "\"sentence_transformers\": {\"activation_fn\": \"torch.nn.modules.linear.Identity\"}, ",
          false },
        { "\"sbert_ce_default_activation_function\": \"torch.nn.modules.linear.Identity\", ",
          false },
        { "\"sentence_transformers\": {\"activation_fn\": "
          "\"torch.nn.modules.activation.Sigmoid\"}, ",
          true },
    };
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < 4; i++) {
        struct folder f;
        struct bench b;
        char text[200];
        int32_t ids[7];
        double x[WIDTH], want[1];
        make_bert(&f, 1);
        snprintf(text, sizeof text, "%s\"hidden_act\"", cases[i].keys);
        replace(f.config, 1 << 16, "\"hidden_act\"", text);
        write_folder(&f, none, none);
        const struct quire_engine_params ep = bench_params(1);
        open_bench(&b, dir, NULL, &ep);
        golden_ids("bert", 7, ids);
        golden_pooler("pooler.7", x);
        linear(find(&f, "classifier.weight"), find(&f, "classifier.bias"), x, want);
        check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, 7), want, 1, cases[i].sigmoid);
        close_bench(&b);
        free_folder(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),       cmocka_unit_test(test_roberta),
        cmocka_unit_test(test_modernbert), cmocka_unit_test(test_decoder),
        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_activation),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
