/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_longrope.c - LongRoPE, whose factors depend on the sequence length: logits against a
 * forward pass in double precision, chunked prefill, and generation past the original context. The
 * weights are those of the phi3 reference model with another configuration. */
#include "format/safetensors.h"
#include "test_longrope.h"
#include <math.h>
#include <quire/engine.h>
#include <quire/model.h>

/* ---- Forward pass in double precision, from the definition of the model */

static float *weights_of(const struct qr_safetensors *s, size_t n, const char *format, int layer)
{
    char name[128];
    size_t i;
    snprintf(name, sizeof name, format, layer);
    assert_true(qr_safetensors_find(s, name, &i));
    assert_int_equal(qr_safetensors_tensor(s, i)->bytes, n * sizeof(float));
    float *w = malloc(n * sizeof *w);
    assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, n * sizeof *w, w, NULL));
    return w;
}

static void multiply(double *out, const float *w, const double *x, int n, int k)
{
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int j = 0; j < k; j++)
            out[i] += (double)w[i * k + j] * x[j];
    }
}

static void norm(double *out, const double *x, const float *w)
{
    double sum = 0;
    for (int i = 0; i < HIDDEN; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < HIDDEN; i++)
        out[i] = x[i] / sqrt(sum / HIDDEN + 1e-5) * w[i];
}

static void rotate(double *head, int pos, bool is_long)
{
    const double grow = sqrt(1 + log((double)CONTEXT / ORIGINAL) / log(ORIGINAL));
    for (int i = 0; i < HALF; i++) {
        const double angle = pos / (factor(is_long, i) * pow(10000, 2.0 * i / HEAD));
        const double c = cos(angle) * grow, s = sin(angle) * grow, a = head[i], b = head[i + HALF];
        head[i] = a * c - b * s;
        head[i + HALF] = b * c + a * s;
    }
}

/* Computes out[HEADS * HEAD] of the token at pos. A row of qkv is the queries, key and value of one
 * token. */
static void attend(double *out, double (*qkv)[QKV], int pos)
{
    const int first = pos - WINDOW + 1 > 0 ? pos - WINDOW + 1 : 0;
    for (int h = 0; h < HEADS; h++) {
        double p[WINDOW], sum = 0;
        for (int t = first; t <= pos; t++) {
            double dot = 0;
            for (int d = 0; d < HEAD; d++)
                dot += qkv[pos][h * HEAD + d] * qkv[t][HEADS * HEAD + d];
            sum += p[t - first] = exp(dot / sqrt(HEAD));
        }
        for (int d = 0; d < HEAD; d++) {
            double o = 0;
            for (int t = first; t <= pos; t++)
                o += p[t - first] / sum * qkv[t][(HEADS + 1) * HEAD + d];
            out[h * HEAD + d] = o;
        }
    }
}

static void one_layer(const struct qr_safetensors *s, int layer, double (*x)[HIDDEN], int n,
                      bool is_long)
{
    static double qkv[MAX_TOKENS][QKV];
    const char *const prefix = "model.layers.%d.";
    char name[8][96];
    static const char *const parts[] = { "input_layernorm",  "self_attn.qkv_proj",
                                         "self_attn.o_proj", "post_attention_layernorm",
                                         "mlp.gate_up_proj", "mlp.down_proj" };
    static const size_t sizes[] = { HIDDEN, QKV * HIDDEN,     HIDDEN * HIDDEN,
                                    HIDDEN, 2 * FFN * HIDDEN, HIDDEN * FFN };
    float *w[6];
    for (int i = 0; i < 6; i++) {
        snprintf(name[i], sizeof name[i], "%s%s.weight", prefix, parts[i]);
        w[i] = weights_of(s, sizes[i], name[i], layer);
    }
    double y[HIDDEN], z[HIDDEN], gate_up[2 * FFN];
    for (int t = 0; t < n; t++) {
        norm(y, x[t], w[0]);
        multiply(qkv[t], w[1], y, QKV, HIDDEN);
        for (int h = 0; h <= HEADS; h++)
            rotate(qkv[t] + h * HEAD, t, is_long);
    }
    for (int t = 0; t < n; t++) {
        attend(y, qkv, t);
        multiply(z, w[2], y, HIDDEN, HIDDEN);
        for (int i = 0; i < HIDDEN; i++)
            x[t][i] += z[i];
        norm(y, x[t], w[3]);
        multiply(gate_up, w[4], y, 2 * FFN, HIDDEN);
        for (int i = 0; i < FFN; i++)
            gate_up[i] *= gate_up[FFN + i] / (1 + exp(-gate_up[i]));
        multiply(z, w[5], gate_up, HIDDEN, FFN);
        for (int i = 0; i < HIDDEN; i++)
            x[t][i] += z[i];
    }
    for (int i = 0; i < 6; i++)
        free(w[i]);
}

/* Computes logits[VOCAB] of the last of n tokens; `length` selects the rope factors. */
static void reference(const int32_t *ids, int n, int length, double *logits)
{
    static double x[MAX_TOKENS][HIDDEN];
    struct qr_safetensors *s;
    double y[HIDDEN];
    assert_status(QUIRE_OK, qr_safetensors_open_dir(dir, NULL, &s, NULL));
    float *embed = weights_of(s, VOCAB * HIDDEN, "model.embed_tokens.weight", 0);
    float *last = weights_of(s, HIDDEN, "model.norm.weight", 0);
    float *head = weights_of(s, VOCAB * HIDDEN, "lm_head.weight", 0);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < HIDDEN; i++)
            x[t][i] = embed[ids[t] * HIDDEN + i];
    for (int i = 0; i < LAYERS; i++)
        one_layer(s, i, x, n, length > ORIGINAL);
    norm(y, x[n - 1], last);
    multiply(logits, head, y, VOCAB, HIDDEN);
    free(embed), free(last), free(head);
    qr_safetensors_close(s);
}

/* ---- The model through the public API */

struct fixture {
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    int32_t table[BLOCKS];
};

static void open_fixture(struct fixture *w)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = dir;
    mp.compute = QUIRE_COMPUTE_F32;
    const quire_status s = quire_model_open(&mp, &w->model, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
    struct quire_kv_group_config g[2];
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(w->model, g, 2, &n));
    assert_int_equal(n, 1);
    g[0].n_blocks = BLOCKS;
    g[0].k_dtype = g[0].v_dtype = QUIRE_KV_F32;
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = BLOCK, .groups = g, .n_groups = 1
    };
    assert_status(QUIRE_OK, quire_kv_create(&config, &w->kv, &err));
    assert_status(QUIRE_OK, quire_kv_alloc(w->kv, 0, -1, BLOCKS, w->table, &err));
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w->kv;
    cp.max_tokens = cp.max_seq_len = cp.max_tree_tokens = MAX_TOKENS;
    assert_status(QUIRE_OK, quire_context_create(w->model, &cp, &w->context, &err));
}

static void close_fixture(struct fixture *w)
{
    quire_context_destroy(w->context);
    quire_kv_destroy(w->kv);
    assert_status(QUIRE_OK, quire_model_close(w->model));
}

/* Runs tokens [begin, begin + n) with a tree mask, or NULL; `length` selects the rope factors, 0:
 * the length so far. Returns the logits of the last. */
static void forward_tree(struct fixture *w, const int32_t *ids, int begin, int n,
                         const uint64_t *tree, uint32_t length, float *logits)
{
    int64_t slots[MAX_TOKENS];
    for (int i = 0; i < n; i++)
        slots[i] = (int64_t)w->table[(begin + i) / BLOCK] * BLOCK + (begin + i) % BLOCK;
    const int32_t starts[] = { 0, n }, len = begin + n;
    const struct quire_attention_batch_group group = { .block_table = w->table,
                                                       .max_blocks = BLOCKS,
                                                       .slot_mapping = slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &group,
                                                 .tree_mask = tree };
    const uint32_t row = (uint32_t)n - 1;
    const struct quire_forward_args step = { .struct_size = sizeof step,
                                             .batch = &batch,
                                             .token_ids = ids + begin,
                                             .rope_lens = length ? &length : NULL,
                                             .logits_rows = &row,
                                             .n_logits = 1,
                                             .logits = logits };
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_context_forward(w->context, &step, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
}

static void forward(struct fixture *w, const int32_t *ids, int begin, int n, uint32_t length,
                    float *logits)
{
    forward_tree(w, ids, begin, n, NULL, length, logits);
}

static void fill_ids(int32_t *ids)
{
    for (int i = 0; i < MAX_TOKENS; i++)
        ids[i] = (i * 37 + i * i * 11) % 256 + 1;
}

static void assert_close(const float *got, const double *want, int n_tokens)
{
    double worst = 0;
    for (int i = 0; i < VOCAB; i++)
        worst = fmax(worst, fabs(got[i] - want[i]));
    if (!(worst <= 3e-3))
        fail_msg("%d tokens: a logit is off by %g", n_tokens, worst);
}

/* In a tree the longest branch counts, not the number of drafts: the same token as a draft three
 * times over leaves the sequence short. */
static void test_trees_are_as_long_as_their_branches(void **state)
{
    (void)state;
    enum { BEGIN = ORIGINAL - 2 };
    static const uint64_t leaves[] = { 1, 2, 4 }, chain[] = { 1, 3, 7 };
    int32_t ids[MAX_TOKENS];
    float want[VOCAB], got[VOCAB];
    struct fixture w;
    if (!need_shared())
        skip();
    fill_ids(ids);
    ids[BEGIN] = ids[BEGIN + 1] = ids[BEGIN + 2];
    open_fixture(&w);
    forward(&w, ids, 0, BEGIN + 1, 0, want);
    forward_tree(&w, ids, BEGIN, 3, leaves, 0, got);
    for (int i = 0; i < VOCAB; i++)
        assert_true(fabsf(got[i] - want[i]) <= 1e-4f);
    forward(&w, ids, BEGIN, 3, 0, want);
    forward_tree(&w, ids, BEGIN, 3, chain, 0, got);
    assert_memory_equal(got, want, sizeof got);
    close_fixture(&w);
}

static void test_short_and_long_sequences(void **state)
{
    (void)state;
    static const int lengths[] = { 1, 33, ORIGINAL, ORIGINAL + 1, 100, MAX_TOKENS };
    if (!need_shared())
        skip();
    struct fixture w;
    int32_t ids[MAX_TOKENS];
    float logits[VOCAB];
    double want[VOCAB], other[VOCAB];
    fill_ids(ids);
    open_fixture(&w);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        forward(&w, ids, 0, lengths[i], 0, logits);
        reference(ids, lengths[i], lengths[i], want);
        assert_close(logits, want, lengths[i]);
    }
    /* the two sets of factors differ measurably */
    reference(ids, 33, 33, want);
    reference(ids, 33, CONTEXT, other);
    double apart = 0;
    for (int i = 0; i < VOCAB; i++)
        apart = fmax(apart, fabs(want[i] - other[i]));
    assert_true(apart > 0.1);
    forward(&w, ids, 0, 33, CONTEXT, logits);
    assert_close(logits, other, 33);
    close_fixture(&w);
}

static void test_chunked_prefill(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fixture w;
    int32_t ids[MAX_TOKENS];
    float whole[VOCAB], parts[VOCAB];
    fill_ids(ids);
    open_fixture(&w);
    forward(&w, ids, 0, 100, 0, whole);
    for (int step = 1; step <= 50; step += 7) {
        for (int at = 0; at < 100; at += step)
            forward(&w, ids, at, at + step < 100 ? step : 100 - at, 100, parts);
        assert_memory_equal(whole, parts, sizeof whole);
    }
    close_fixture(&w);
}

static struct quire_engine *open_engine(uint32_t block_size)
{
    struct quire_engine_params ep;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = dir;
    ep.n_threads = 1;
    ep.thread_backend = QUIRE_THREADS_PTHREAD;
    ep.compute = QUIRE_COMPUTE_F32;
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    ep.block_size = block_size;
    if (quire_engine_open(&ep, &e, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return e;
}

/* Appends n_answer tokens to the prompt ids[0 .. n_prompt); returns the number of cached tokens. */
static uint32_t answer(struct quire_engine *e, int32_t *ids, int n_prompt, int n_answer)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.tokens = ids;
    p.n_tokens = (size_t)n_prompt;
    p.max_tokens = (uint32_t)n_answer;
    const struct quire_sampling_params greedy = { .struct_size = sizeof greedy,
                                                  .top_p = 1,
                                                  .repetition_penalty = 1 };
    p.sampling = &greedy;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    quire_request_id id;
    assert_status(QUIRE_OK, quire_engine_submit(e, &p, &id, &err));
    struct quire_event ev = { .struct_size = sizeof ev };
    int n = n_prompt;
    do {
        assert_status(QUIRE_OK, quire_engine_poll(e, &ev, &err));
        if (ev.kind == QUIRE_EVENT_NONE)
            assert_status(QUIRE_OK, quire_engine_step(e, &err));
        for (size_t i = 0; i < ev.n_tokens && ev.kind != QUIRE_EVENT_NONE; i++)
            ids[n++] = ev.tokens[i];
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_int_equal(n, n_prompt + n_answer);
    return ev.usage_data.cached_tokens;
}

/* Each token generated across the original context length equals the argmax of a prefill of the
 * whole sequence so far. */
static void test_generation_past_original_context(void **state)
{
    (void)state;
    enum { PROMPT = 50, ANSWER = 30 };
    if (!need_shared())
        skip();
    int32_t ids[MAX_TOKENS];
    fill_ids(ids);
    struct quire_engine *e = open_engine(BLOCK);
    (void)answer(e, ids, PROMPT, ANSWER);
    quire_engine_close(e);
    struct fixture w;
    float logits[VOCAB];
    open_fixture(&w);
    for (int i = PROMPT; i < PROMPT + ANSWER; i++) {
        int best = 0;
        forward(&w, ids, 0, i, 0, logits);
        for (int t = 1; t < 257; t++) /* ids that the tokenizer defines */
            best = logits[t] > logits[best] ? t : best;
        assert_int_equal(ids[i], best);
    }
    close_fixture(&w);
}

/* Keys of short and of long sequences are saved as different prefixes. */
static void test_saved_cache(void **state)
{
    (void)state;
    enum { SHORT = 40, LONG = 90, ANSWER = 12 };
    if (!need_shared())
        skip();
    int32_t short_ids[MAX_TOKENS], long_ids[MAX_TOKENS], ids[MAX_TOKENS];
    char path[4200];
    snprintf(path, sizeof path, "%s/prefixes", dir);
    struct quire_cache_file_params file;
    quire_cache_file_params_init(&file, sizeof file);
    file.path = path;
    static const uint32_t block_sizes[] = { 16, 32, 64 };
    for (size_t i = 0; i < 3; i++) {
        struct quire_engine *e = open_engine(16);
        fill_ids(short_ids);
        fill_ids(long_ids);
        fill_ids(ids);
        assert_int_equal(answer(e, short_ids, SHORT, ANSWER), 0);
        assert_int_equal(answer(e, long_ids, LONG, ANSWER), 0);
        assert_status(QUIRE_OK, quire_engine_save_cache(e, &file, NULL, NULL));
        quire_engine_close(e);
        e = open_engine(block_sizes[i]);
        assert_status(QUIRE_OK, quire_engine_restore_cache(e, &file, NULL, NULL));
        assert_int_equal(answer(e, ids, SHORT, ANSWER), SHORT - 1);
        assert_memory_equal(ids, short_ids, (SHORT + ANSWER) * sizeof *ids);
        fill_ids(ids);
        assert_int_equal(answer(e, ids, LONG, ANSWER), LONG - 1);
        assert_memory_equal(ids, long_ids, (LONG + ANSWER) * sizeof *ids);
        quire_engine_close(e);
        /* only the short one is in the file */
        e = open_engine(16);
        fill_ids(ids);
        (void)answer(e, ids, SHORT, ANSWER);
        assert_status(QUIRE_OK, quire_engine_save_cache(e, &file, NULL, NULL));
        quire_engine_close(e);
        e = open_engine(block_sizes[i]);
        assert_status(QUIRE_OK, quire_engine_restore_cache(e, &file, NULL, NULL));
        fill_ids(ids);
        assert_int_equal(answer(e, ids, LONG, ANSWER), 0);
        quire_engine_close(e);
    }
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_are_as_long_as_their_branches),
        cmocka_unit_test(test_short_and_long_sequences),
        cmocka_unit_test(test_chunked_prefill),
        cmocka_unit_test(test_generation_past_original_context),
        cmocka_unit_test(test_saved_cache),
    };
    return cmocka_run_group_tests(tests, fill_dir, drop_dir);
}
