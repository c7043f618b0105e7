/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_score_gguf.c - scores of GGUF files with classification heads against double
 * precision from the reference hidden states. */
#include "test_score_gguf.h"
#include "test_scores.h"

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
    { NULL },
    false,
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
    { NULL },
    false,
};

static const struct family qwen3 = {
    "qwen3",
    { { "block_count", 2 },
      { "context_length", 512 },
      { "embedding_length", WIDTH },
      { "feed_forward_length", 128 },
      { "attention.head_count", 4 },
      { "attention.head_count_kv", 2 },
      { "attention.key_length", 32 },
      { "attention.value_length", 32 },
      { "pooling_type", 4 } },
    { { "attention.layer_norm_rms_epsilon", 1e-6f }, { "rope.freq_base", 1e6f } },
    { { "embed_tokens", "token_embd" },
      { "input_layernorm", "attn_norm" },
      { "post_attention_layernorm", "ffn_norm" },
      { "self_attn.q_proj", "attn_q" },
      { "self_attn.k_proj", "attn_k" },
      { "self_attn.v_proj", "attn_v" },
      { "self_attn.o_proj", "attn_output" },
      { "self_attn.q_norm", "attn_q_norm" },
      { "self_attn.k_norm", "attn_k_norm" },
      { "mlp.gate_proj", "ffn_gate" },
      { "mlp.up_proj", "ffn_up" },
      { "mlp.down_proj", "ffn_down" },
      { "layers.", "blk." } },
    "none",
    { "yes", "no" },
    true,
};

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

/* Qwen3-Reranker: the logistic function of the difference of yes and no, of the last token's state.
 * Other labels are scores of their own. */
static void test_qwen3(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int yes_no = 0; yes_no < 2; yes_no++) {
        struct folder f;
        struct bench b;
        struct family family = qwen3;
        int32_t ids[100];
        char path[128];
        double x[WIDTH], out[2];
        read_folder(&f, "qwen3_embedding");
        snprintf(find(&f, "norm.weight")->name, 160, "output_norm.weight");
        struct tensor *w = add_seeded(&f, "cls.output.weight", 2, WIDTH, 5);
        family.labels[1] = yes_no ? "no" : "maybe";
        write_gguf(&family, &f, path);
        const struct quire_engine_params ep = bench_params(2);
        open_bench(&b, path, NULL, &ep);
        struct quire_model_info info = { .struct_size = sizeof info };
        assert_status(QUIRE_OK, quire_model_get_info(b.model, &info));
        assert_int_equal(info.n_labels, yes_no ? 1 : 2);
        assert_true(info.sigmoid_scores == (uint32_t)yes_no && !info.has_logits);
        for (size_t i = 0; i < 4; i++) {
            golden_ids("qwen3_embedding", lengths[i], ids);
            golden_last_state("qwen3_embedding", lengths[i], x);
            linear(w, NULL, x, out);
            if (yes_no)
                out[0] -= out[1];
            check_scores(&b, vector_of(QUIRE_TASK_SCORE, ids, lengths[i]), out, info.n_labels,
                         yes_no);
        }
        close_bench(&b);
        free_folder(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_modernbert),
        cmocka_unit_test(test_qwen3),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
