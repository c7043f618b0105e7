/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoder_files.c - files of encoders and encoder-decoders: every tensor is required with its
 * shape; equal weights under other names, as another family and as GGUF give equal bits. */
#include "model/load/weights.h"
#include "test_encoder.h"
#include "test_folder.h"
#include <math.h>

static quire_status open_weights(struct quire_error *err)
{
    struct qr_weights *w;
    const struct qr_weights_params p = { .path = dir, .strict = true };
    const quire_status s = qr_weights_open(&p, &w, err);
    qr_weights_close(w);
    return s;
}

/* ---- every tensor is required with its shape */

/* Tensors that a model may lack. */
static bool is_optional(const char *name)
{
    static const char *const names[] = { "pooler.dense.weight", "pooler.dense.bias",
                                         "head.dense.weight", "decoder.bias", "final_logits_bias" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void expect_missing(const struct folder *f, size_t i)
{
    const char *name = f->t[i].name;
    struct quire_error err = QUIRE_ERROR_INIT;
    char text[160];
    snprintf(text, sizeof text, "%s",
             strcmp(name, "head.norm.weight") == 0 ? "head's norm is missing" : name);
    replace(text, sizeof text, ".weight",
            ""); /* of two names for a role, the message contains the first */
    write_folder(f, i, none);
    const quire_status s = open_weights(&err);
    if (s != (is_optional(name) ? QUIRE_OK : QUIRE_E_FORMAT) ||
        (s != QUIRE_OK && !strstr(err.msg, text)))
        print_error("without %s: %s \"%s\"\n", name, quire_status_name(s), err.msg);
    assert_int_equal(s, is_optional(name) ? QUIRE_OK : QUIRE_E_FORMAT);
    assert_true(s == QUIRE_OK || strstr(err.msg, text));
}

static void expect_misshapen(const struct folder *f, size_t i)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    write_folder(f, none, i);
    const quire_status s = open_weights(&err);
    if (s != QUIRE_E_FORMAT || !strstr(err.msg, f->t[i].name))
        print_error("misshapen %s: %s \"%s\"\n", f->t[i].name, quire_status_name(s), err.msg);
    assert_int_equal(s, QUIRE_E_FORMAT);
    assert_non_null(strstr(err.msg, f->t[i].name));
}

static void every_tensor(void **state)
{
    static const char *const names[] = { "bert", "modernbert", "t5", "bart", "t5gemma" };
    (void)state;
    if (!need_shared())
        skip();
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        struct folder f;
        struct quire_error err = QUIRE_ERROR_INIT;
        read_folder(&f, names[m]);
        write_folder(&f, none, none);
        assert_status(QUIRE_OK, open_weights(&err));
        for (size_t i = 0; i < f.n; i++) {
            expect_missing(&f, i);
            expect_misshapen(&f, i);
        }
        add(&f, "encoder.layers.7.mystery", 2, 3);
        write_folder(&f, none, none);
        assert_int_equal(open_weights(&err), QUIRE_E_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "mystery"));
        free_folder(&f);
    }
}

/* ---- equivalent folders */

static void encode_some(const char *name, const int32_t *ids, int32_t n, float *hidden,
                        float *logits)
{
    const int32_t starts[] = { 0, n };
    struct world w = good_world(&(struct setting){ .name = name });
    const struct quire_encode_args step = { .struct_size = sizeof step,
                                            .n_seqs = 1,
                                            .query_start_loc = starts,
                                            .token_ids = ids,
                                            .hidden = hidden,
                                            .logits = logits };
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    close_world(&w);
}

static void other_names(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { LEN = 70 };
    int32_t ids[LEN];
    float want[LEN * 64], got[LEN * 64];
    make_ids(ids, LEN, 3);
    encode_some("bert", ids, LEN, want, NULL);
    struct folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    read_folder(&f, "bert");
    rename_all(&f, "", "bert.");
    rename_all(&f, "LayerNorm.weight", "LayerNorm.gamma");
    rename_all(&f, "LayerNorm.bias", "LayerNorm.beta");
    add(&f, "bert.embeddings.position_ids", 0, 128);
    write_folder(&f, none, none);
    assert_status(QUIRE_OK, open_weights(&err)); /* fails on unused tensors */
    encode_some(dir, ids, LEN, got, NULL);
    assert_memory_equal(want, got, sizeof want);
    free_folder(&f);

    /* RoBERTa numbers positions from the row after the padding token */
    read_folder(&f, "bert");
    rename_all(&f, "", "roberta.");
    struct tensor *old = find(&f, "roberta.embeddings.position_embeddings.weight"),
                  *new = add(&f, "roberta.embeddings.position_embeddings.weight", 130, 64);
    for (size_t i = 0; i < 128; i++)
        new->data[i] = 1e6f;
    memcpy(new->data + 128, old->data, old->n * sizeof(float));
    snprintf(old->name, sizeof old->name, "roberta.embeddings.position_ids");
    replace(f.config, 1 << 16, "\"model_type\": \"bert\"", "\"model_type\": \"xlm-roberta\"");
    replace(f.config, 1 << 16, "\"max_position_embeddings\": 128",
            "\"max_position_embeddings\": 130");
    replace(f.config, 1 << 16, "\"pad_token_id\": 0", "\"pad_token_id\": 1");
    write_folder(&f, none, none);
    assert_status(QUIRE_OK, open_weights(&err));
    encode_some(dir, ids, LEN, got, NULL);
    assert_memory_equal(want, got, sizeof want);
    free_folder(&f);
}

/* BERT's masked-language-model head, against double precision from the hidden states. */
static void masked_head(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { LEN = 9, WIDTH = 64, VOCAB = 320 };
    int32_t ids[LEN];
    float hidden[LEN * WIDTH];
    make_ids(ids, LEN, 3);
    struct folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    read_folder(&f, "bert");
    rename_all(&f, "", "bert.");
    struct tensor *dense = add(&f, "cls.predictions.transform.dense.weight", WIDTH, WIDTH),
                  *dense_bias = add(&f, "cls.predictions.transform.dense.bias", 0, WIDTH),
                  *norm = add(&f, "cls.predictions.transform.LayerNorm.weight", 0, WIDTH),
                  *norm_bias = add(&f, "cls.predictions.transform.LayerNorm.bias", 0, WIDTH),
                  *bias = add(&f, "cls.predictions.bias", 0, VOCAB);
    for (size_t i = 0; i < dense->n; i++)
        dense->data[i] = (float)((i * 37 + i / 64) % 23) / 64 - 0.17f;
    for (size_t i = 0; i < WIDTH; i++) {
        dense_bias->data[i] = (float)(i % 5) / 8;
        norm->data[i] = 0.5f + (float)(i % 7) / 8;
        norm_bias->data[i] = (float)(i % 3) / 4;
    }
    for (size_t i = 0; i < VOCAB; i++)
        bias->data[i] = (float)(i % 11);
    write_folder(&f, none, none);
    assert_status(QUIRE_OK, open_weights(&err));
    float *logits = floats(LEN * VOCAB);
    encode_some(dir, ids, LEN, hidden, logits);
    const float *table = find(&f, "bert.embeddings.word_embeddings.weight")->data;
    for (size_t r = 0; r < LEN; r++) {
        double x[WIDTH], mean = 0, square = 0;
        for (size_t i = 0; i < WIDTH; i++) {
            x[i] = dense_bias->data[i];
            for (size_t j = 0; j < WIDTH; j++)
                x[i] += (double)dense->data[i * WIDTH + j] * hidden[r * WIDTH + j];
            x[i] *= 0.5 * (1 + erf(x[i] / sqrt(2)));
            mean += x[i] / WIDTH;
        }
        for (size_t i = 0; i < WIDTH; i++)
            square += (x[i] - mean) * (x[i] - mean) / WIDTH;
        for (size_t i = 0; i < WIDTH; i++)
            x[i] = (x[i] - mean) / sqrt(square + 1e-12) * norm->data[i] + norm_bias->data[i];
        for (size_t v = 0; v < VOCAB; v++) {
            double want = bias->data[v];
            for (size_t i = 0; i < WIDTH; i++)
                want += x[i] * table[v * WIDTH + i];
            assert_true(fabs(logits[r * VOCAB + v] - want) < 1e-3);
        }
    }
    free(logits);
    free_folder(&f);
}

/* ---- T5 as GGUF */

/* The GGUF name of a tensor of the folder. */
static void gguf_name(const char *hf, char out[160])
{
    static const char *const parts[][2] = {
        { "shared.weight", "token_embd.weight" },
        { "decoder.final_layer_norm", "dec.output_norm" },
        { "encoder.final_layer_norm", "enc.output_norm" },
        { "decoder.block.", "dec.blk." },
        { "encoder.block.", "enc.blk." },
        { "layer.0.SelfAttention.relative_attention_bias", "attn_rel_b" },
        { "layer.0.SelfAttention.", "attn_" },
        { "layer.0.layer_norm", "attn_norm" },
        { "layer.1.EncDecAttention.", "cross_attn_" },
        { "layer.1.DenseReluDense.wi", "ffn_up" },
        { "layer.1.DenseReluDense.wo", "ffn_down" },
        { "layer.2.DenseReluDense.wi", "ffn_up" },
        { "layer.2.DenseReluDense.wo", "ffn_down" },
        { "layer.2.layer_norm", "ffn_norm" },
        { "layer.1.layer_norm", "ffn_norm" },
    };
    snprintf(out, 160, "%s", hf);
    if (strncmp(hf, "decoder", 7) == 0)
        replace(out, 160, "layer.1.layer_norm", "cross_attn_norm");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        replace(out, 160, parts[i][0], parts[i][1]);
}

static void make_gguf(const struct folder *f, struct image *m)
{
    static const struct {
        const char *key;
        uint32_t value;
    } sizes[] = { { "t5.block_count", 2 },
                  { "t5.context_length", 512 },
                  { "t5.embedding_length", 64 },
                  { "t5.feed_forward_length", 160 },
                  { "t5.attention.head_count", 4 },
                  { "t5.attention.key_length", 16 },
                  { "t5.attention.value_length", 16 },
                  { "t5.attention.relative_buckets_count", 32 },
                  { "t5.decoder_start_token_id", 0 } };
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    uint64_t at = 0;
    put_head(m, 3, f->n, N_SIZES + 2);
    put_kv_str(m, "general.architecture", "t5");
    put_kv_f32(m, "t5.attention.layer_norm_rms_epsilon", 1e-6f);
    for (size_t i = 0; i < N_SIZES; i++)
        put_kv_u32(m, sizes[i].key, sizes[i].value);
    for (size_t i = 0; i < f->n; i++) {
        char name[160];
        const struct tensor *t = &f->t[i];
        const uint64_t dims[2] = { t->n_dims == 2 ? t->shape[1] : t->shape[0], t->shape[0] };
        gguf_name(t->name, name);
        put_tensor(m, name, 0, t->n_dims, dims, at);
        at += (t->n * sizeof(float) + 31) / 32 * 32;
    }
    pad_to(m, 32);
    for (size_t i = 0; i < f->n; i++) {
        put(m, f->t[i].data, f->t[i].n * sizeof(float));
        pad_to(m, 32);
    }
}

/* Logits of ten decoder tokens for a source of 70 tokens. */
static void translate(const char *path, float *hidden, float *logits)
{
    struct world w = good_world(&(struct setting){ .name = path, .n_blocks = 5 });
    int32_t source[70], target[10], table[5];
    const int32_t starts[] = { 0, 70 }, target_starts[] = { 0, 10 }, source_len = 70, len = 10;
    int64_t slots[80];
    uint32_t rows[10];
    make_ids(source, 70, 4);
    make_ids(target, 10, 9);
    for (uint32_t g = 0; g < 2; g++)
        assert_status(QUIRE_OK, quire_kv_alloc(w.kv, g, -1, 5, table, NULL)); /* 0 .. 4 */
    for (int i = 0; i < 80; i++)
        slots[i] = i;
    for (uint32_t i = 0; i < 10; i++)
        rows[i] = i;
    const struct quire_encode_args encode_step = { .struct_size = sizeof encode_step,
                                                   .n_seqs = 1,
                                                   .query_start_loc = starts,
                                                   .token_ids = source,
                                                   .hidden = hidden,
                                                   .cross_slot_mapping = slots };
    assert_status(QUIRE_OK, quire_context_encode(w.context, &encode_step, NULL));
    const struct quire_attention_batch_group group = { .block_table = table,
                                                       .max_blocks = 5,
                                                       .slot_mapping = slots };
    const struct quire_attention_batch_group groups[2] = { group, group };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = target_starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 2,
                                                 .groups = groups,
                                                 .encoder_seq_lens = &source_len };
    const struct quire_forward_args step = { .struct_size = sizeof step,
                                             .batch = &batch,
                                             .token_ids = target,
                                             .logits = logits,
                                             .logits_rows = rows,
                                             .n_logits = 10 };
    assert_status(QUIRE_OK, quire_context_forward(w.context, &step, NULL));
    close_world(&w);
}

static void t5_gguf(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    float *want = floats(70 * 64 + 10 * 320), *got = floats(70 * 64 + 10 * 320);
    struct folder f;
    struct image m;
    read_folder(&f, "t5");
    /* GGUF has no key for the maximum distance */
    replace(f.config, 1 << 16, "\"relative_attention_max_distance\": 60",
            "\"relative_attention_max_distance\": 128");
    write_folder(&f, none, none);
    translate(dir, want, want + 70 * 64);
    make_gguf(&f, &m);
    char *path = to_file(&m);
    translate(path, got, got + 70 * 64);
    assert_memory_equal(want, got, (70 * 64 + 10 * 320) * sizeof *want);
    unlink(path);
    free(path);
    drop(&m);
    free_folder(&f);
    free(want);
    free(got);
}

/* num_nextn_predict_layers: the file may contain that many layers behind the last one. */
static void mtp_layers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    read_folder(&f, "deepseek_v3"); /* 3 layers and 1 */
    for (int i = 3; i < 5; i++) {
        add(&f, i == 3 ? "model.layers.3.x" : "model.layers.4.x", 2, 3);
        write_folder(&f, none, none);
        assert_int_equal(open_weights(&err), i == 3 ? QUIRE_OK : QUIRE_E_UNSUPPORTED);
    }
    free_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor), cmocka_unit_test(mtp_layers), cmocka_unit_test(other_names),
        cmocka_unit_test(masked_head),  cmocka_unit_test(t5_gguf),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
