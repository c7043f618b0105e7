/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_spans.c - bidirectional spans and block lists through the model API: the Gemma 3
 * reference model, whose layers have windows or none, against a forward pass in double
 * precision. */
#include "format/safetensors.h"
#include "test_model_masks.h"

/* Sizes of the reference model (config.json of goldens/gemma3_text). */
enum {
    LAYERS = 7,
    FULL_LAYER = 5, /* the only one without a window */
    HIDDEN = 64,
    HEADS = 4,
    HEAD = 32,
    HALF = HEAD / 2,
    FFN = 128,
    WINDOW = 16,
    QKV = (HEADS + 2) * HEAD,
    LENGTH = 100
};

/* What a token sees besides the causal rule and windows. */
struct rules {
    uint32_t n_spans;
    struct quire_token_range spans[4];
    bool listed[2][BLOCKS]; /* blocks of the windowed layers, and of the full layer */
};

static const struct rules PLAIN = { .listed = { { 1, 1, 1, 1, 1, 1, 1, 1 },
                                                { 1, 1, 1, 1, 1, 1, 1, 1 } } };

static bool sees(const struct rules *r, int layer, int query, int key)
{
    if (!r->listed[layer == FULL_LAYER][key / BLOCK])
        return false;
    for (uint32_t i = 0; i < r->n_spans; i++)
        if (query >= r->spans[i].begin && query < r->spans[i].end && key >= r->spans[i].begin &&
            key < r->spans[i].end)
            return true;
    return key <= query && (layer == FULL_LAYER || key > query - WINDOW);
}

/* ---- the model in double precision, from its definition */

static float *weights_of(const struct qr_safetensors *s, size_t n, int layer, const char *part)
{
    char name[128];
    size_t i;
    if (layer < 0)
        snprintf(name, sizeof name, "model.%s.weight", part);
    else
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, part);
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

static void norm(double *out, const double *x, const float *w, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    const double by = 1 / sqrt(sum / n + 1e-6);
    for (int i = 0; i < n; i++)
        out[i] = x[i] * by * (1 + (double)w[i]);
}

static void rotate(double *head, int layer, int pos)
{
    for (int i = 0; i < HALF; i++) {
        const double turn = 2.0 * i / HEAD,
                     angle =
                         layer == FULL_LAYER ? pos / 8.0 / pow(1e6, turn) : pos / pow(1e4, turn),
                     c = cos(angle), s = sin(angle), a = head[i], b = head[i + HALF];
        head[i] = a * c - b * s;
        head[i + HALF] = b * c + a * s;
    }
}

/* Attention of one token; a row of qkv is the queries, key and value of a token. */
static void attend(const struct rules *r, int layer, double *out, double (*qkv)[QKV], int n,
                   int query)
{
    for (int h = 0; h < HEADS; h++) {
        double sum = 0, o[HEAD] = { 0 };
        for (int t = 0; t < n; t++) {
            double dot = 0;
            if (!sees(r, layer, query, t))
                continue;
            for (int d = 0; d < HEAD; d++)
                dot += qkv[query][h * HEAD + d] * qkv[t][HEADS * HEAD + d];
            const double p = exp(dot / sqrt(48));
            sum += p;
            for (int d = 0; d < HEAD; d++)
                o[d] += p * qkv[t][(HEADS + 1) * HEAD + d];
        }
        for (int d = 0; d < HEAD; d++)
            out[h * HEAD + d] = sum > 0 ? o[d] / sum : 0;
    }
}

enum { Q, K, V, O, Q_NORM, K_NORM, IN, POST, PRE_FFN, POST_FFN, GATE, UP, DOWN, N_WEIGHTS };

static void load_layer(const struct qr_safetensors *s, int layer, float **w)
{
    static const struct {
        const char *name;
        size_t n;
    } parts[N_WEIGHTS] = {
        [Q] = { "self_attn.q_proj", HEADS * HEAD * HIDDEN },
        [K] = { "self_attn.k_proj", HEAD * HIDDEN },
        [V] = { "self_attn.v_proj", HEAD * HIDDEN },
        [O] = { "self_attn.o_proj", HIDDEN * HEADS * HEAD },
        [Q_NORM] = { "self_attn.q_norm", HEAD },
        [K_NORM] = { "self_attn.k_norm", HEAD },
        [IN] = { "input_layernorm", HIDDEN },
        [POST] = { "post_attention_layernorm", HIDDEN },
        [PRE_FFN] = { "pre_feedforward_layernorm", HIDDEN },
        [POST_FFN] = { "post_feedforward_layernorm", HIDDEN },
        [GATE] = { "mlp.gate_proj", FFN * HIDDEN },
        [UP] = { "mlp.up_proj", FFN * HIDDEN },
        [DOWN] = { "mlp.down_proj", HIDDEN * FFN },
    };
    for (int i = 0; i < N_WEIGHTS; i++)
        w[i] = weights_of(s, parts[i].n, layer, parts[i].name);
}

static void project(float *const *w, int layer, const double *x, int pos, double *qkv)
{
    double y[HIDDEN];
    norm(y, x, w[IN], HIDDEN);
    multiply(qkv, w[Q], y, HEADS * HEAD, HIDDEN);
    multiply(qkv + HEADS * HEAD, w[K], y, HEAD, HIDDEN);
    multiply(qkv + (HEADS + 1) * HEAD, w[V], y, HEAD, HIDDEN);
    for (int h = 0; h <= HEADS; h++) {
        double *head = qkv + h * HEAD;
        norm(head, head, w[h < HEADS ? Q_NORM : K_NORM], HEAD);
        rotate(head, layer, pos);
    }
}

static void feed_forward(float *const *w, double *x)
{
    double y[HIDDEN], z[HIDDEN], gate[FFN], up[FFN];
    norm(y, x, w[PRE_FFN], HIDDEN);
    multiply(gate, w[GATE], y, FFN, HIDDEN);
    multiply(up, w[UP], y, FFN, HIDDEN);
    for (int i = 0; i < FFN; i++) {
        const double g = gate[i];
        gate[i] = g / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (g + 0.044715 * g * g * g)));
        gate[i] *= up[i];
    }
    multiply(z, w[DOWN], gate, HIDDEN, FFN);
    norm(z, z, w[POST_FFN], HIDDEN);
    for (int i = 0; i < HIDDEN; i++)
        x[i] += z[i];
}

static void run_layer(const struct rules *r, int layer, float *const *w, double (*x)[HIDDEN], int n)
{
    static double qkv[LENGTH][QKV];
    for (int t = 0; t < n; t++)
        project(w, layer, x[t], t, qkv[t]);
    for (int t = 0; t < n; t++) {
        double o[HEADS * HEAD], z[HIDDEN];
        attend(r, layer, o, qkv, n, t);
        multiply(z, w[O], o, HIDDEN, HEADS * HEAD);
        norm(z, z, w[POST], HIDDEN);
        for (int i = 0; i < HIDDEN; i++)
            x[t][i] += z[i];
        feed_forward(w, x[t]);
    }
}

/* Computes the logits of all n tokens. */
static void reference(const struct rules *r, const int32_t *ids, int n, float (*logits)[VOCAB])
{
    static double x[LENGTH][HIDDEN];
    char path[8192];
    struct qr_safetensors *s;
    double y[HIDDEN], out[VOCAB];
    snprintf(path, sizeof path, "%s/goldens/gemma3_text", shared_dir());
    assert_status(QUIRE_OK, qr_safetensors_open_dir(path, NULL, &s, NULL));
    float *embed = weights_of(s, VOCAB * HIDDEN, -1, "embed_tokens"),
          *last = weights_of(s, HIDDEN, -1, "norm"), *w[N_WEIGHTS];
    for (int t = 0; t < n; t++)
        for (int i = 0; i < HIDDEN; i++)
            x[t][i] = (double)embed[ids[t] * HIDDEN + i] * sqrt(HIDDEN);
    for (int layer = 0; layer < LAYERS; layer++) {
        load_layer(s, layer, w);
        run_layer(r, layer, w, x, n);
        for (int i = 0; i < N_WEIGHTS; i++)
            free(w[i]);
    }
    for (int t = 0; t < n; t++) {
        norm(y, x[t], last, HIDDEN);
        multiply(out, embed, y, VOCAB, HIDDEN);
        for (int i = 0; i < VOCAB; i++)
            logits[t][i] = (float)out[i];
    }
    free(embed), free(last);
    qr_safetensors_close(s);
}

/* ---- tests */

static int32_t ids[LENGTH];
static float want[LENGTH][VOCAB], got[LENGTH][VOCAB], plain[LENGTH][VOCAB];

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTH; i++)
        ids[i] = some_id(i);
    return 0;
}

/* Rows [begin, end) agree with the reference. */
static void assert_rows(int begin, int end, const char *what)
{
    for (int t = begin; t < end; t++)
        if (!(row_difference(got[t], want[t]) <= 3e-3))
            fail_msg("%s: a logit of token %d is off by %g", what, t,
                     row_difference(got[t], want[t]));
}

static struct masks span_masks(const struct rules *r)
{
    return (struct masks){ .n_spans = r->n_spans, .spans = r->spans };
}

/* The reference itself is right where the reference implementation has results: without spans. */
static void reference_is_gemma3(void **state)
{
    (void)state;
    char path[8192];
    struct qr_safetensors *s;
    static int64_t golden_ids[LENGTH];
    static int32_t small_ids[LENGTH];
    size_t i;
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/gemma3_text/golden.safetensors", shared_dir());
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &s, NULL));
    assert_true(qr_safetensors_find(s, "ids.100", &i));
    assert_status(QUIRE_OK,
                  qr_safetensors_read_range(s, i, 0, sizeof golden_ids, golden_ids, NULL));
    assert_true(qr_safetensors_find(s, "logits.100", &i));
    assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, sizeof got, got, NULL));
    qr_safetensors_close(s);
    for (int t = 0; t < LENGTH; t++)
        small_ids[t] = (int32_t)golden_ids[t];
    reference(&PLAIN, small_ids, LENGTH, want);
    assert_rows(0, LENGTH, "reference");
}

/* A prefix, images inside and beyond a window, and spans of one token. */
static void spans_of_all_shapes(void **state)
{
    (void)state;
    static const struct quire_token_range spans[][4] = {
        { { 0, 40 } },
        { { 5, 12 }, { 12, 40 } },
        { { 20, 21 }, { 30, 70 }, { 95, 100 } },
        { { 0, 100 } },
    };
    struct world w;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        struct rules r = PLAIN;
        while (r.n_spans < 4 && spans[i][r.n_spans].end)
            r.spans[r.n_spans] = spans[i][r.n_spans], r.n_spans++;
        reference(&r, ids, LENGTH, want);
        const struct masks m = span_masks(&r);
        open_masked_world(&w, "gemma3_text", 1 + (uint32_t)i % 3, 0);
        must_run(&w, ids, 0, LENGTH, &NO_MASKS, plain[0]);
        assert_true(row_difference(plain[r.spans[0].begin], want[r.spans[0].begin]) > 0.1 ||
                    r.spans[0].end - r.spans[0].begin == 1);
        must_run(&w, ids, 0, LENGTH, &m, got[0]);
        assert_rows(0, LENGTH, "whole prompt");
        close_world(&w);
    }
}

/* Prefill in chunks that keep spans whole gives the same bits, also where spans lie before or
 * after a chunk. */
static void spans_in_chunks(void **state)
{
    (void)state;
    static const int ends[] = { 10, 45, 46, 80, LENGTH };
    struct rules r = PLAIN;
    struct world w;
    int begin = 0;
    if (!need_shared())
        skip();
    r.spans[r.n_spans++] = (struct quire_token_range){ 12, 44 };
    r.spans[r.n_spans++] = (struct quire_token_range){ 50, 60 };
    const struct masks m = span_masks(&r);
    open_masked_world(&w, "gemma3_text", 2, 0);
    must_run(&w, ids, 0, LENGTH, &m, plain[0]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; begin = ends[i++])
        must_run(&w, ids + begin, begin, ends[i] - begin, &m, got[begin]);
    assert_memory_equal(got, plain, sizeof got);
    close_world(&w);
}

/* Each KV group has lists of its own: blocks of the full layer, and of the windowed layers. */
static void lists_per_group(void **state)
{
    (void)state;
    static const bool keep[][2][BLOCKS] = {
        { { 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 0, 0, 1, 0, 1, 1, 1 } },
        { { 1, 0, 1, 1, 0, 1, 1, 0 }, { 1, 1, 1, 1, 1, 1, 1, 1 } },
        { { 1, 1, 0, 1, 1, 0, 1, 1 }, { 0, 1, 0, 0, 1, 0, 1, 1 } },
    };
    struct world w;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        struct rules r = PLAIN;
        struct quire_kv_group_config groups[MAX_GROUPS];
        struct quire_sparse_list lists[2];
        int32_t blocks[2][BLOCKS];
        const struct quire_sparse_list *sparse[2] = { 0 };
        uint32_t n;
        memcpy(r.listed, keep[i], sizeof r.listed);
        r.spans[r.n_spans++] = (struct quire_token_range){ 30, 60 };
        reference(&r, ids, LENGTH, want);
        open_masked_world(&w, "gemma3_text", 2, 0);
        assert_status(QUIRE_OK, quire_model_kv_groups(w.model, groups, MAX_GROUPS, &n));
        assert_int_equal(n, 2);
        for (uint32_t g = 0; g < n; g++) {
            const bool *listed = r.listed[groups[g].sliding_window == 0];
            lists[g] = (struct quire_sparse_list){ blocks[g], 0 };
            for (int32_t b = 0; b < BLOCKS; b++)
                if (listed[b])
                    blocks[g][lists[g].n++] = b;
            sparse[g] = &lists[g]; /* one KV head */
        }
        struct masks m = span_masks(&r);
        m.sparse = sparse;
        must_run(&w, ids, 0, LENGTH, &m, got[0]);
        assert_rows(0, LENGTH, "lists");
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_gemma3),
        cmocka_unit_test(spans_of_all_shapes),
        cmocka_unit_test(spans_in_chunks),
        cmocka_unit_test(lists_per_group),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
