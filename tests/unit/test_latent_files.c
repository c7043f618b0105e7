/* SPDX-License-Identifier: Apache-2.0 */
/* test_latent_files.c - configurations and files of DeepSeek models: sizes, scales, both ways of
 * storing W_UK and W_UV, and inconsistent files. */
#include "base/weight_type.h"
#include "linear/dequantize.h"
#include "model/load/weight_roles.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"
#include "test_gguf.h"
#include "test_hf.h"
#include <math.h>

/* ---- config.json */

#define LATENT                                                                                     \
    "\"q_lora_rank\":48,\"kv_lora_rank\":32,\"qk_nope_head_dim\":24,\"qk_rope_head_dim\":8,"       \
    "\"v_head_dim\":20,\"n_routed_experts\":8,\"num_experts_per_tok\":2"
#define V2(more) MODEL("deepseek_v2", "," LATENT more)
#define V3(more) MODEL("deepseek_v3", "," LATENT ",\"n_group\":4,\"topk_group\":2" more)
#define YARN(more)                                                                                 \
    ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,\"original_max_position_embeddings\":"     \
    "64" more "}"

static void descriptions(void **state)
{
    (void)state;
    struct qr_model_config c = good(V2(""));
    assert_true(c.mla.q_lora_rank == 48 && c.mla.kv_lora_rank == 32 && c.mla.qk_nope_dim == 24 &&
                c.mla.qk_rope_dim == 8 && !c.mla.expand);
    assert_true(c.head_dim == 32 && c.v_head_dim == 20 && c.layers[3].n_kv_heads == 1);
    assert_true(c.rope[0].dim == 8 && c.rope[0].kind == QR_ROPE_INTERLEAVED);
    assert_true(c.attention_scale == (float)(1 / sqrt(32)));
    assert_true(c.moe.gating == QR_GATING_SOFTMAX && !c.moe.correction && !c.moe.renormalize &&
                c.moe.n_shared == 2 && c.moe.shared_ffn_size == 2 * c.moe.ffn_size);
    qr_model_config_free(&c);
    c = good(MODEL("deepseek_v2", "," LATENT ",\"q_lora_rank\":null"));
    assert_int_equal(c.mla.q_lora_rank, 0);
    qr_model_config_free(&c);
    c = good(V3(""));
    assert_true(c.moe.gating == QR_GATING_SIGMOID && c.moe.correction && c.moe.group_top2 &&
                c.moe.renormalize && c.moe.n_groups == 4 && c.moe.topk_groups == 2 &&
                c.moe.weights_scale == 2.5f);
    assert_true(!c.layers[2].moe && c.layers[3].moe); /* three dense layers by default */
    qr_model_config_free(&c);
    c = good(V3(",\"rope_interleave\":false"));
    assert_int_equal(c.rope[0].kind, QR_ROPE_NEOX);
    qr_model_config_free(&c);
    c = good(V2(",\"moe_layer_freq\":2"));
    assert_true(c.layers[0].moe && !c.layers[1].moe && c.layers[2].moe);
    qr_model_config_free(&c);
}

/* mscale_all_dim scales the attention scores; its ratio to mscale scales cosines and sines. */
static void yarn_scales_scores(void **state)
{
    (void)state;
    const double m = 0.1 * 0.707 * log(40) + 1, m1 = 0.1 * log(40) + 1;
    struct qr_model_config c = good(V2(YARN(",\"mscale\":0.707,\"mscale_all_dim\":0.707")));
    assert_true(fabs((double)c.attention_scale - m * m / sqrt(32)) < 1e-7);
    assert_true(c.rope[0].cos_sin_scale == 1);
    qr_model_config_free(&c);
    c = good(V3(YARN(",\"mscale\":1.0,\"mscale_all_dim\":0.707")));
    assert_true(fabs((double)c.attention_scale - m * m / sqrt(32)) < 1e-7);
    assert_true(fabs((double)c.rope[0].cos_sin_scale - m1 / m) < 1e-6);
    qr_model_config_free(&c);
    c = good(V3(YARN("")));
    assert_true(c.attention_scale == (float)(1 / sqrt(32)));
    assert_true(fabs((double)c.rope[0].cos_sin_scale - m1) < 1e-6);
    qr_model_config_free(&c);
    c = good(MODEL(
        "llama", YARN(",\"mscale\":1.0,\"mscale_all_dim\":1.0"))); /* other families never scale */
    assert_true(c.attention_scale == 0.25f);
    qr_model_config_free(&c);
}

static void bad_configurations(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } cases[] = {
        { V2(",\"kv_lora_rank\":0"), "kv_lora_rank is 0" },
        { V2(",\"kv_lora_rank\":null"), "kv_lora_rank is missing" },
        { V2(",\"kv_lora_rank\":1020"), "kv_lora_rank is 1020" },
        { V2(",\"kv_lora_rank\":4294967295"), "kv_lora_rank" },
        { V2(",\"qk_nope_head_dim\":0"), "qk_nope_head_dim is 0" },
        { V2(",\"qk_nope_head_dim\":1020"), "head_dim is 1028" },
        { V2(",\"qk_nope_head_dim\":4294967295"), "4294967295 plain" },
        { V2(",\"qk_rope_head_dim\":0"), "qk_rope_head_dim is 0" },
        { V2(",\"qk_rope_head_dim\":7"), "7 rotary" },
        { V2(",\"qk_rope_head_dim\":4294967295"), "4294967295 rotary" },
        { V2(",\"qk_rope_head_dim\":\"8\""), "qk_rope_head_dim" },
        { V2(",\"q_lora_rank\":4294967295"), "q_lora_rank" },
        { V2(",\"q_lora_rank\":-1"), "q_lora_rank" },
        { V2(",\"v_head_dim\":0"), "v_head_dim is 0" },
        { V2(",\"v_head_dim\":1025"), "v_head_dim is 1025" },
        { V3(",\"topk_group\":5"), "groups used is 5" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bad(cases[i].json, QUIRE_E_FORMAT, cases[i].text);
    bad(V2(",\"attention_bias\":true"), QUIRE_E_UNSUPPORTED, "attention_bias = true");
    bad(V3(",\"mlp_bias\":true"), QUIRE_E_UNSUPPORTED, "mlp_bias = true");
}

/* ---- GGUF files: one layer, 2 heads of 16 + 8 and 12 dimensions, latent rows of 32 + 8 */

enum { HEADS = 2, RANK = 32, NOPE = 16, ROPE = 8, V_DIM = 12, HIDDEN = 32, BOTH = NOPE + V_DIM };

/* How kv_b is stored in the file, and its error. */
struct form {
    bool split, rows_of_cache; /* two tensors; key_length is the length of a cached row */
    uint32_t type;             /* of kv_b: F32 or Q8_0 */
    const char *skip;
    const char *reshape; /* this tensor has one row too many */
    const char *drop_key;
    float multiplier; /* of YaRN; 0: no scaling */
};

struct tensor {
    const char *name;
    uint32_t n_dims;
    uint64_t dims[3];
    uint32_t type;
};

static size_t tensors_of(const struct form *f, struct tensor *t)
{
    const struct tensor all[] = {
        { "token_embd.weight", 2, { HIDDEN, 10 }, 0 },
        { "output_norm.weight", 1, { HIDDEN }, 0 },
        { "blk.0.attn_norm.weight", 1, { HIDDEN }, 0 },
        { "blk.0.attn_q.weight", 2, { HIDDEN, HEADS * (NOPE + ROPE) }, 0 },
        { "blk.0.attn_kv_a_mqa.weight", 2, { HIDDEN, RANK + ROPE }, 0 },
        { "blk.0.attn_kv_a_norm.weight", 1, { RANK }, 0 },
        { "blk.0.attn_output.weight", 2, { HEADS * V_DIM, HIDDEN }, 0 },
        { "blk.0.ffn_norm.weight", 1, { HIDDEN }, 0 },
        { "blk.0.ffn_gate.weight", 2, { HIDDEN, 12 }, 0 },
        { "blk.0.ffn_up.weight", 2, { HIDDEN, 12 }, 0 },
        { "blk.0.ffn_down.weight", 2, { 12, HIDDEN }, 0 },
        { "blk.0.attn_kv_b.weight", 2, { RANK, HEADS * BOTH }, f->type },
        { "blk.0.attn_k_b.weight", 3, { NOPE, RANK, HEADS }, 0 },
        { "blk.0.attn_v_b.weight", 3, { RANK, V_DIM, HEADS }, 0 },
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const bool whole = i == 11, part = i > 11;
        if ((whole && f->split) || (part && !f->split) ||
            (f->skip && !strcmp(f->skip, all[i].name)))
            continue;
        t[n] = all[i];
        if (f->reshape && !strcmp(f->reshape, all[i].name))
            t[n].dims[all[i].n_dims - 1]++;
        n++;
    }
    return n;
}

/* Elements of W_UK and W_UV, representable in Q8_0 with scale 1. */
static float uk(size_t h, size_t n, size_t c)
{
    return (float)((int)(h * 31 + n * 7 + c * 5) % 255 - 127);
}
static float uv(size_t h, size_t d, size_t c)
{
    return (float)((int)(h * 17 + d * 11 + c * 3) % 255 - 127);
}
static float kv_b(size_t row, size_t c)
{
    const size_t h = row / BOTH, r = row % BOTH;
    return r < NOPE ? uk(h, r, c) : uv(h, r - NOPE, c);
}

static void put_f32(struct image *m, float v) { put(m, &v, sizeof v); }

static void put_data(struct image *m, const struct tensor *t)
{
    uint64_t n = t->dims[0];
    for (uint32_t d = 1; d < t->n_dims; d++)
        n *= t->dims[d];
    const bool q8 = t->type == QR_WEIGHT_Q8_0;
    for (uint64_t i = 0; i < n; i++) {
        const size_t col = i % t->dims[0], row = i / t->dims[0];
        float v = (float)i;
        if (strstr(t->name, "kv_b."))
            v = kv_b(row % (HEADS * BOTH), col);
        else if (strstr(t->name, "attn_k_b"))
            v = uk(row / RANK, col, row % RANK);
        else if (strstr(t->name, "attn_v_b"))
            v = uv(row / V_DIM, row % V_DIM, col);
        if (q8 && i % 32 == 0)
            put(m, "\x00\x3c", 2); /* 1 in f16 */
        if (q8)
            put_u8(m, (uint8_t)(int8_t)v);
        else
            put_f32(m, v);
    }
    pad_to(m, 32);
}

static void put_model(struct image *m, const struct form *f)
{
    const struct {
        const char *key;
        uint32_t value;
    } sizes[] = { { "deepseek2.block_count", 1 },
                  { "deepseek2.embedding_length", HIDDEN },
                  { "deepseek2.context_length", 512 },
                  { "deepseek2.feed_forward_length", 12 },
                  { "deepseek2.vocab_size", 10 },
                  { "deepseek2.attention.head_count", HEADS },
                  { "deepseek2.attention.head_count_kv", f->rows_of_cache ? 1 : HEADS },
                  { "deepseek2.attention.kv_lora_rank", RANK },
                  { "deepseek2.rope.dimension_count", ROPE },
                  { "deepseek2.attention.key_length",
                    f->rows_of_cache ? RANK + ROPE : NOPE + ROPE },
                  { "deepseek2.attention.value_length", f->rows_of_cache ? RANK : V_DIM },
                  { "deepseek2.attention.key_length_mla", NOPE + ROPE },
                  { "deepseek2.attention.value_length_mla", V_DIM } };
    struct tensor t[16];
    const size_t n = tensors_of(f, t), n_sizes = f->rows_of_cache ? 13 : 11;
    size_t n_keys = n_sizes + 2 + (f->multiplier > 0 ? 4 : 0);
    for (size_t i = 0; i < n_sizes; i++)
        n_keys -= f->drop_key && !strcmp(f->drop_key, sizes[i].key);
    put_head(m, 3, n, n_keys);
    put_kv_str(m, "general.architecture", "deepseek2");
    put_kv_f32(m, "deepseek2.attention.layer_norm_rms_epsilon", 1e-6f);
    for (size_t i = 0; i < n_sizes; i++)
        if (!f->drop_key || strcmp(f->drop_key, sizes[i].key) != 0)
            put_kv_u32(m, sizes[i].key, sizes[i].value);
    if (f->multiplier > 0) {
        put_kv_str(m, "deepseek2.rope.scaling.type", "yarn");
        put_kv_f32(m, "deepseek2.rope.scaling.factor", 40);
        put_kv_u32(m, "deepseek2.rope.scaling.original_context_length", 64);
        put_kv_f32(m, "deepseek2.rope.scaling.yarn_log_multiplier", f->multiplier);
    }
    struct image data = { 0 };
    for (size_t i = 0; i < n; i++) {
        put_tensor(m, t[i].name, t[i].type, t[i].n_dims, t[i].dims, data.size);
        put_data(&data, &t[i]);
    }
    pad_to(m, 32);
    put(m, data.data, data.size);
    drop(&data);
}

static quire_status open_form(const struct form *f, bool expand, struct image *m,
                              struct qr_weights **w, struct quire_error *err)
{
    put_model(m, f);
    const struct qr_weights_params p = {
        .memory = m->data, .memory_size = m->size, .strict = true, .expand_latent = expand
    };
    return qr_weights_open(&p, w, err);
}

typedef float number_fn(size_t head, size_t row, size_t col);
static float uk_transposed(size_t h, size_t c, size_t n) { return uk(h, n, c); }

/* All elements of a stack, read whole and in parts of a few rows. */
static void check_stack(struct qr_weights *w, enum qr_weight_role role, size_t rows, size_t cols,
                        number_fn *want)
{
    struct qr_weight stack;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_true(qr_weights_find(w, role, 0, &stack));
    assert_true(stack.n_rows == rows && stack.n_cols == cols && stack.n_experts == HEADS);
    for (uint32_t h = 0; h < HEADS; h++) {
        const struct qr_weight one = qr_weights_expert(&stack, h);
        uint8_t *raw = malloc(rows * one.row_bytes);
        float *x = malloc(rows * cols * sizeof *x);
        for (size_t part = 1; part <= rows; part = part == 1 ? 5 : part * 7) {
            memset(raw, 0x5a, rows * one.row_bytes);
            for (size_t r = 0; r < rows; r += part)
                assert_status(QUIRE_OK,
                              qr_weights_read_rows(w, &one, r, rows - r < part ? rows - r : part,
                                                   raw + r * one.row_bytes, &err));
            for (size_t r = 0; r < rows; r++)
                qr_weight_dequantize(one.type, raw + r * one.row_bytes, cols, x + r * cols);
            for (size_t i = 0; i < rows * cols; i++)
                if (x[i] != want(h, i / cols, i % cols))
                    fail_msg("%s of head %u: [%zu][%zu] is %g", qr_weight_role_name(role), h,
                             i / cols, i % cols, (double)x[i]);
        }
        free(raw), free(x);
    }
}

static void both_storage_forms(void **state)
{
    (void)state;
    static const struct form forms[] = {
        { .type = QR_WEIGHT_F32 },
        { .type = QR_WEIGHT_Q8_0 },
        { .split = true },
        { .split = true, .rows_of_cache = true },
        { .rows_of_cache = true, .type = QR_WEIGHT_Q8_0 },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int expand = 0; expand < 2; expand++) {
            struct qr_weights *w;
            struct image m;
            struct quire_error err = QUIRE_ERROR_INIT;
            const quire_status s = open_form(&forms[i], expand, &m, &w, &err);
            if (s != QUIRE_OK)
                fail_msg("form %zu: %s", i, err.msg);
            const struct qr_model_config *c = qr_weights_config(w);
            assert_true(c->head_dim == NOPE + ROPE && c->v_head_dim == V_DIM &&
                        c->mla.qk_nope_dim == NOPE && c->mla.qk_rope_dim == ROPE &&
                        c->layers[0].n_kv_heads == 1 && c->mla.q_lora_rank == 0);
            check_stack(w, QR_W_LATENT_UK, RANK, NOPE, uk_transposed);
            check_stack(w, QR_W_LATENT_UV, V_DIM, RANK, uv);
            struct qr_weight rows;
            assert_int_equal(qr_weights_find(w, QR_W_LATENT_UK_ROWS, 0, &rows), expand);
            if (expand)
                check_stack(w, QR_W_LATENT_UK_ROWS, NOPE, RANK, uk);
            assert_false(qr_weights_find(w, QR_W_ATTN_K, 0, &rows));
            assert_false(qr_weights_find(w, QR_W_LATENT_Q_A, 0, &rows));
            qr_weights_close(w);
            drop(&m);
        }
}

/* Quantized rows are not read as f32, and nothing is read once the files are closed. */
static void bad_reads(void **state)
{
    (void)state;
    const struct form f = { .type = QR_WEIGHT_Q8_0 };
    struct qr_weights *w;
    struct image m;
    struct qr_weight uk_weight, uv_weight;
    struct quire_error err = QUIRE_ERROR_INIT;
    float x[RANK * NOPE];
    assert_status(QUIRE_OK, open_form(&f, false, &m, &w, &err));
    assert_true(qr_weights_find(w, QR_W_LATENT_UK, 0, &uk_weight));
    assert_true(qr_weights_find(w, QR_W_LATENT_UV, 0, &uv_weight));
    assert_status(QUIRE_OK, qr_weights_read_rows(w, &uk_weight, 0, RANK, x, &err));
    assert_status(QUIRE_E_UNSUPPORTED, qr_weights_read_f32(w, &uv_weight, x, V_DIM * RANK, &err));
    assert_non_null(strstr(err.msg, "latent_uv has type Q8_0 and cannot be read as f32"));
    qr_weights_release_source(w);
    assert_status(QUIRE_E_MISUSE, qr_weights_read_rows(w, &uk_weight, 0, RANK, x, &err));
    qr_weights_close(w);
    drop(&m);
}

static void yarn_of_gguf(void **state)
{
    (void)state;
    const struct form f = { .multiplier = 0.0707f };
    struct qr_weights *w;
    struct image m;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, open_form(&f, false, &m, &w, &err));
    const double scale = 1 + 0.0707 * log(40);
    const struct qr_model_config *c = qr_weights_config(w);
    assert_true(fabs((double)c->attention_scale - scale * scale / sqrt(NOPE + ROPE)) < 1e-6);
    assert_true(c->rope[0].cos_sin_scale == 1 && c->rope[0].scaling == QR_ROPE_SCALING_YARN);
    qr_weights_close(w);
    drop(&m);
}

static void refuse(struct form f, const char *text)
{
    struct qr_weights *w;
    struct image m;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = open_form(&f, true, &m, &w, &err);
    if (s != QUIRE_E_FORMAT || !strstr(err.msg, text))
        print_error("got %s \"%s\", expected \"%s\"\n", quire_status_name(s), err.msg, text);
    assert_int_equal(s, QUIRE_E_FORMAT);
    assert_non_null(strstr(err.msg, text));
    assert_null(w);
    drop(&m);
}

static void bad_files(void **state)
{
    (void)state;
    static const char *const needed[] = {
        "blk.0.attn_q.weight",    "blk.0.attn_kv_a_mqa.weight", "blk.0.attn_kv_a_norm.weight",
        "blk.0.attn_kv_b.weight", "blk.0.attn_output.weight",
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        /* without attn_q, the missing tensors are those of the q_lora_rank form */
        refuse((struct form){ .skip = needed[i] }, i ? needed[i] : "blk.0.attn_q_b.weight");
        refuse((struct form){ .reshape = needed[i] }, needed[i]);
    }
    refuse((struct form){ .split = true, .skip = "blk.0.attn_k_b.weight" },
           "attn_kv_b.weight is missing");
    refuse((struct form){ .split = true, .skip = "blk.0.attn_v_b.weight" },
           "attn_kv_b.weight is missing");
    refuse((struct form){ .split = true, .reshape = "blk.0.attn_k_b.weight" }, "attn_k_b.weight");
    refuse((struct form){ .split = true, .reshape = "blk.0.attn_v_b.weight" }, "attn_v_b.weight");
    refuse((struct form){ .drop_key = "deepseek2.attention.kv_lora_rank" }, "kv_lora_rank");
    refuse((struct form){ .drop_key = "deepseek2.rope.dimension_count" }, "dimension_count");
    refuse((struct form){ .rows_of_cache = true, .drop_key = "deepseek2.attention.key_length_mla" },
           "blk.0.attn_q.weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),       cmocka_unit_test(yarn_scales_scores),
        cmocka_unit_test(bad_configurations), cmocka_unit_test(both_storage_forms),
        cmocka_unit_test(yarn_of_gguf),       cmocka_unit_test(bad_files),
        cmocka_unit_test(bad_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
