/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_score_gguf.c - scores of GGUF files with classification heads against double
 * precision from the reference hidden states. */
#include "test_scores.h"

struct key {
    const char *name;
    uint32_t value;
};

/* A family of GGUF files: its keys, and the names of its tensors instead of those of folders. */
struct family {
    const char *arch;
    struct key keys[12];
    struct {
        const char *key;
        float value;
    } floats[4];
    const char *names[20][2];
    const char *left_out; /* tensors that converters leave out */
};

static const struct family bert = {
    "bert",
    { { "block_count", 2 },
      { "context_length", 128 },
      { "embedding_length", WIDTH },
      { "feed_forward_length", 160 },
      { "attention.head_count", 4 },
      { "pooling_type", 4 } },
    { { "attention.layer_norm_epsilon", 1e-12f } },
    { { "embeddings.word_embeddings", "token_embd" },
      { "embeddings.position_embeddings", "position_embd" },
      { "embeddings.token_type_embeddings", "token_types" },
      { "embeddings.LayerNorm", "token_embd_norm" },
      { "encoder.layer.", "blk." },
      { "attention.self.query", "attn_q" },
      { "attention.self.key", "attn_k" },
      { "attention.self.value", "attn_v" },
      { "attention.output.dense", "attn_output" },
      { "attention.output.LayerNorm", "attn_output_norm" },
      { "intermediate.dense", "ffn_up" },
      { "output.dense", "ffn_down" },
      { "output.LayerNorm", "layer_output_norm" } },
    "pooler",
};

static const struct family modernbert = {
    "modern-bert",
    { { "block_count", 4 },
      { "context_length", 512 },
      { "embedding_length", WIDTH },
      { "feed_forward_length", 96 },
      { "attention.head_count", 4 },
      { "attention.sliding_window", 16 },
      { "attention.sliding_window_pattern", 3 },
      { "pooling_type", 4 } },
    { { "attention.layer_norm_epsilon", 1e-5f },
      { "rope.freq_base", 160000 },
      { "rope.freq_base_swa", 10000 } },
    { { "model.embeddings.tok_embeddings", "token_embd" },
      { "model.embeddings.norm", "token_embd_norm" },
      { "model.final_norm", "output_norm" },
      { "model.layers.", "blk." },
      { "attn.Wqkv", "attn_qkv" },
      { "attn.Wo", "attn_output" },
      { "mlp_norm", "ffn_norm" },
      { "mlp.Wi", "ffn_up" },
      { "mlp.Wo", "ffn_down" },
      { "head.dense", "cls" },
      { "head.norm", "cls.norm" },
      { "classifier", "cls.output" } },
    "decoder",
};

static void put_keys(struct image *m, const struct family *f, uint64_t n_tensors)
{
    char name[80];
    uint64_t n = 3;
    for (const struct key *k = f->keys; k->name; k++)
        n++;
    for (size_t i = 0; f->floats[i].key; i++)
        n++;
    put_head(m, 3, n_tensors, n);
    put_kv_str(m, "general.architecture", f->arch);
    snprintf(name, sizeof name, "%s.attention.causal", f->arch);
    put_key(m, name, QR_GGUF_BOOL);
    put_u8(m, 0);
    snprintf(name, sizeof name, "%s.classifier.output_labels", f->arch);
    put_kv_array(m, name, QR_GGUF_STRING, 1);
    put_str(m, "LABEL_0");
    for (const struct key *k = f->keys; k->name; k++) {
        snprintf(name, sizeof name, "%s.%s", f->arch, k->name);
        put_kv_u32(m, name, k->value);
    }
    for (size_t i = 0; f->floats[i].key; i++) {
        snprintf(name, sizeof name, "%s.%s", f->arch, f->floats[i].key);
        put_kv_f32(m, name, f->floats[i].value);
    }
}

/* Writes a folder as a GGUF file. */
static void write_gguf(const struct family *family, struct folder *f, char path[128])
{
    struct image m;
    uint64_t at = 0, n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += !strstr(f->t[i].name, family->left_out);
    put_keys(&m, family, n);
    for (size_t i = 0; i < f->n; i++) {
        char name[160];
        const struct tensor *t = &f->t[i];
        const uint64_t dims[2] = { t->n_dims == 2 ? t->shape[1] : t->shape[0], t->shape[0] };
        if (strstr(t->name, family->left_out))
            continue;
        snprintf(name, sizeof name, "%s", t->name);
        for (size_t k = 0; family->names[k][0]; k++)
            replace(name, sizeof name, family->names[k][0], family->names[k][1]);
        put_tensor(&m, name, 0, t->n_dims, dims, at);
        at += (t->n * sizeof(float) + 31) / 32 * 32;
    }
    pad_to(&m, 32);
    for (size_t i = 0; i < f->n; i++)
        if (!strstr(f->t[i].name, family->left_out)) {
            put(&m, f->t[i].data, f->t[i].n * sizeof(float));
            pad_to(&m, 32);
        }
    write_file("reranker.gguf", m.data, m.size);
    snprintf(path, 128, "%s/reranker.gguf", dir);
    drop(&m);
}

/* cls and cls.output as RoBERTa's head; cls.output alone on the first token's state. */
static void test_bert(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int dense = 0; dense < 2; dense++) {
        struct folder f;
        struct bench b;
        int32_t ids[100];
        char path[128];
        double x[WIDTH], mid[WIDTH], want[1];
        read_folder(&f, "bert");
        if (dense) {
            add_seeded(&f, "cls.weight", WIDTH, WIDTH, 3);
            add_seeded(&f, "cls.bias", 0, WIDTH, 4);
        }
        struct tensor *out = add_seeded(&f, "cls.output.weight", 0, WIDTH, 5); /* one row */
        add_seeded(&f, "cls.output.bias", 0, 1, 9);
        write_gguf(&bert, &f, path);
        const struct quire_engine_params ep = bench_params(1);
        open_bench(&b, path, NULL, &ep);
        for (size_t i = 0; i < 4; i++) {
            golden_ids("bert", lengths[i], ids);
            golden_state("bert", lengths[i], false, x);
            if (dense) {
                linear(find(&f, "cls.weight"), find(&f, "cls.bias"), x, mid);
                for (int k = 0; k < WIDTH; k++)
                    x[k] = tanh(mid[k]);
            }
            want[0] = find(&f, "cls.output.bias")->data[0];
            for (int k = 0; k < WIDTH; k++)
                want[0] += out->data[k] * x[k];
            check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, 1, true);
        }
        close_bench(&b);
        free_folder(&f);
    }
}

/* The head of ModernBERT's masked LM on the mean of the states. */
static void test_modernbert(void **state)
{
    struct folder f;
    struct bench b;
    int32_t ids[100];
    char path[128];
    double x[WIDTH], want[MAX_LABELS];
    (void)state;
    if (!need_shared())
        skip();
    make_modernbert(&f, 1, true);
    write_gguf(&modernbert, &f, path);
    const struct quire_engine_params ep = bench_params(2);
    open_bench(&b, path, NULL, &ep);
    for (size_t i = 0; i < 4; i++) {
        golden_ids("modernbert", lengths[i], ids);
        golden_state("modernbert", lengths[i], true, x);
        modernbert_head(&f, x, want);
        check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), want, 1, true);
    }
    close_bench(&b);
    free_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_modernbert),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
