/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_config_weights.c - weights by role: names, shapes, reads, both formats. */
#include "model/load/weight_roles.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"
#include "test_config.h"
#include "test_gguf.h"
#include <math.h>

/* A one-layer f32 Llama: 2 heads of size 4, 1 KV head, hidden 8, FFN 12, vocabulary 10 */
struct spec {
    const char *gguf, *hf;
    uint32_t rows, cols; /* rows == 0: a vector */
};
static const struct spec specs[] = {
    { "token_embd.weight", "model.embed_tokens.weight", 10, 8 },
    { "output.weight", "lm_head.weight", 10, 8 },
    { "output_norm.weight", "model.norm.weight", 0, 8 },
    { "blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight", 0, 8 },
    { "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", 8, 8 },
    { "blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight", 4, 8 },
    { "blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight", 4, 8 },
    { "blk.0.attn_output.weight", "model.layers.0.self_attn.o_proj.weight", 8, 8 },
    { "blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight", 0, 8 },
    { "blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight", 12, 8 },
    { "blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight", 12, 8 },
    { "blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight", 8, 12 },
};
enum { N_SPECS = sizeof specs / sizeof *specs };

/* A modification of the well-formed model. */
struct change {
    const char *skip;            /* GGUF name of a tensor to omit */
    const char *reshape;         /* GGUF name of a matrix to transpose or a vector to extend */
    const char *extra;           /* name of an additional vector of 8 */
    const char *extra_quantized; /* name of an additional Q8_0 vector of 32 */
};

static bool same(const char *a, const char *b) { return a && strcmp(a, b) == 0; }

static void put_tiny(struct image *m, const struct change *c)
{
    static const struct {
        const char *key;
        uint32_t value;
    } sizes[] = { { "llama.block_count", 1 },
                  { "llama.embedding_length", 8 },
                  { "llama.context_length", 64 },
                  { "llama.feed_forward_length", 12 },
                  { "llama.vocab_size", 10 },
                  { "llama.attention.head_count", 2 },
                  { "llama.attention.head_count_kv", 1 } };
    const uint64_t n =
        N_SPECS - (c->skip != NULL) + (c->extra != NULL) + (c->extra_quantized != NULL);
    uint64_t offset = 0;
    put_head(m, 3, n, 9);
    put_kv_str(m, "general.architecture", "llama");
    put_kv_f32(m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (size_t i = 0; i < 7; i++)
        put_kv_u32(m, sizes[i].key, sizes[i].value);
    for (size_t i = 0; i < N_SPECS; i++) {
        const struct spec *s = &specs[i];
        uint64_t dims[2] = { s->cols, s->rows };
        if (same(c->skip, s->gguf))
            continue;
        if (same(c->reshape, s->gguf)) {
            dims[0] = s->rows ? s->rows : s->cols + 8;
            dims[1] = s->cols;
        }
        put_tensor(m, s->gguf, 0, s->rows ? 2 : 1, dims, offset);
        offset += ((s->rows ? dims[0] * dims[1] : dims[0]) * 4 + 31) / 32 * 32;
    }
    const uint64_t eight[1] = { 8 }, block[1] = { 32 };
    if (c->extra)
        put_tensor(m, c->extra, 0, 1, eight, offset);
    if (c->extra_quantized)
        put_tensor(m, c->extra_quantized, 8, 1, block, offset);
    pad_to(m, 32);
    for (size_t i = 0; i < offset / 4 + 16; i++) {
        const float v = (float)i;
        put(m, &v, sizeof v);
    }
}

static void warn(void *user, enum quire_log_level level, quire_status code, const char *msg)
{
    (void)code;
    if (level == QUIRE_LOG_WARN)
        snprintf(user, 512, "%s", msg);
}

static quire_status open_tiny(const struct change *c, bool allow_unknown, char warning[512],
                              struct qr_weights **w, struct image *m, struct quire_error *err)
{
    const struct quire_logger log = { warning, warn };
    warning[0] = 0;
    put_tiny(m, c);
    m->size -= 64; /* the values after the last tensor */
    if (c->extra || c->extra_quantized)
        m->size += c->extra ? 32 : 34;
    const struct qr_weights_params p = {
        .memory = m->data, .memory_size = m->size, .logger = &log, .allow_unknown = allow_unknown
    };
    return qr_weights_open(&p, w, err);
}

static void expect_change(struct change c, bool allow_unknown, quire_status status,
                          const char *text, const char *warning)
{
    struct qr_weights *w;
    struct image m;
    struct quire_error err = QUIRE_ERROR_INIT;
    char warned[512];
    const quire_status s = open_tiny(&c, allow_unknown, warned, &w, &m, &err);
    if (s != status || !strstr(err.msg, text) || !strstr(warned, warning))
        print_error("got %s \"%s\" warning \"%s\"\n", quire_status_name(s), err.msg, warned);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
    assert_non_null(strstr(warned, warning));
    qr_weights_close(w);
    drop(&m);
}

static void test_every_tensor_is_needed(void **state)
{
    (void)state;
    expect_change((struct change){ 0 }, false, QUIRE_OK, "", "");
    for (size_t i = 0; i < N_SPECS; i++) {
        /* without LM head the embeddings are tied; every other tensor is required */
        const bool head = same("output.weight", specs[i].gguf);
        expect_change((struct change){ .skip = specs[i].gguf }, false,
                      head ? QUIRE_OK : QUIRE_E_FORMAT, head ? "" : specs[i].gguf, "");
        if (specs[i].rows != specs[i].cols)
            expect_change((struct change){ .reshape = specs[i].gguf }, false, QUIRE_E_FORMAT,
                          specs[i].gguf, "");
    }
}

static void test_extra_tensors(void **state)
{
    (void)state;
    static const char *const unknown[] = { "blk.0.mystery.weight", "blk.1.attn_norm.weight",
                                           "rope_freqs.weights" };
    for (int i = 0; i < 3; i++) {
        const struct change c = { .extra = unknown[i] };
        expect_change(c, false, QUIRE_E_UNSUPPORTED, unknown[i], "");
        expect_change(c, true, QUIRE_OK, "", unknown[i]);
    }
    /* a tensor of an image encoder */
    expect_change((struct change){ .extra = "v.patch_embd.weight" }, false, QUIRE_OK, "", "");
    /* a bias is accepted only with the right size and a type that converts to f32 */
    expect_change((struct change){ .extra = "blk.0.attn_q.bias" }, false, QUIRE_OK, "", "");
    expect_change((struct change){ .extra = "blk.0.attn_k.bias" }, false, QUIRE_E_FORMAT,
                  "blk.0.attn_k.bias", "");
    expect_change((struct change){ .extra_quantized = "blk.0.attn_q.bias" }, false,
                  QUIRE_E_UNSUPPORTED, "blk.0.attn_q.bias", "");
}

static void test_reads(void **state)
{
    (void)state;
    struct qr_weights *w;
    struct image m;
    struct quire_error err = QUIRE_ERROR_INIT;
    char warned[512];
    struct qr_weight k, x;
    float rows[2 * 8], all[32];
    assert_status(QUIRE_OK, open_tiny(&(struct change){ 0 }, false, warned, &w, &m, &err));
    assert_true(qr_weights_find(w, QR_W_ATTN_K, 0, &k));
    assert_true(k.n_rows == 4 && k.n_cols == 8 && k.row_bytes == 32 && k.type == 0);
    assert_status(QUIRE_OK, qr_weights_read_rows(w, &k, 1, 2, rows, &err));
    assert_status(QUIRE_OK, qr_weights_read_f32(w, &k, all, 32, &err));
    assert_memory_equal(rows, all + 8, sizeof rows);
    assert_true(all[31] == all[0] + 31);
    assert_status(QUIRE_OK, qr_weights_read_rows(w, &k, 4, 0, rows, &err));
    assert_status(QUIRE_E_RANGE, qr_weights_read_rows(w, &k, 3, 2, rows, &err));
    assert_status(QUIRE_E_RANGE, qr_weights_read_rows(w, &k, UINT64_MAX, 2, rows, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_weights_read_f32(w, &k, all, 31, &err));
    assert_false(qr_weights_find(w, QR_W_ATTN_K, 1, &x));
    assert_false(qr_weights_find(w, QR_W_ATTN_K_BIAS, 0, &x));
    assert_false(qr_weights_find(w, QR_W_N_ROLES, 0, &x));
    assert_true(qr_weights_find(w, QR_W_OUTPUT_NORM, 0, &x) && x.n_rows == 1 && x.n_cols == 8);
    assert_int_equal(qr_weights_total_bytes(w),
                     (10 * 8 * 2 + 8 * 3 + 8 * 8 * 2 + 4 * 8 * 2 + 12 * 8 * 3) * 4);
    qr_weights_release_source(w);
    assert_null(qr_weights_gguf(w));
    assert_int_equal(qr_weights_config(w)->n_layers, 1);
    assert_status(QUIRE_E_MISUSE, qr_weights_read_rows(w, &k, 1, 2, rows, &err));
    qr_weights_close(w);
    drop(&m);
}

static bool stop_at_half(void *user, uint64_t done, uint64_t total)
{
    uint64_t *last = user;
    assert_true(done > *last && done <= total);
    *last = done;
    return done * 2 <= total;
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    struct image m;
    struct qr_weights *w;
    struct qr_weight x;
    struct quire_error err = QUIRE_ERROR_INIT;
    float buffer[96];
    uint64_t last = 0;
    put_tiny(&m, &(struct change){ 0 });
    const struct qr_weights_params p = {
        .memory = m.data, .memory_size = m.size, .progress = stop_at_half, .progress_user = &last
    };
    assert_status(QUIRE_OK, qr_weights_open(&p, &w, &err));
    quire_status s = QUIRE_OK;
    for (int role = 0; role < QR_W_N_ROLES && s == QUIRE_OK; role++)
        if (qr_weights_find(w, (enum qr_weight_role)role, 0, &x))
            s = qr_weights_read_f32(w, &x, buffer, x.n_rows * x.n_cols, &err);
    assert_status(QUIRE_E_CANCELLED, s);
    assert_true(last * 2 > qr_weights_total_bytes(w));
    qr_weights_close(w);
    drop(&m);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    struct image m;
    put_tiny(&m, &(struct change){ 0 });
    for (int forever = 0; forever < 2; forever++)
        for (size_t n = 1;; n++) {
            struct fail_alloc f;
            struct qr_weights *w;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, n, forever);
            const struct qr_weights_params p = { .memory = m.data,
                                                 .memory_size = m.size,
                                                 .allocator = &f.hooks };
            const quire_status s = qr_weights_open(&p, &w, &err);
            qr_weights_close(w);
            assert_int_equal(f.live_count, 0);
            if (s == QUIRE_OK)
                break;
            assert_int_equal(s, QUIRE_E_NOMEM);
        }
    drop(&m);
}

/* ---- Hugging Face directories */

static char dir[64];

static void write_file(const char *name, const void *data, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(data, 1, n, f);
    fclose(f);
}

/* Writes the model with `prefix` instead of "model." in its tensor names. */
static void write_directory(const char *prefix, const char *config)
{
    char header[4096] = "{", data[8192];
    uint64_t at = 0;
    for (size_t i = 0; i < N_SPECS; i++) {
        const struct spec *s = &specs[i];
        const bool inner = strncmp(s->hf, "model.", 6) == 0;
        const uint64_t bytes = (uint64_t)(s->rows ? s->rows : 1) * s->cols * 4;
        char shape[32];
        snprintf(shape, sizeof shape, s->rows ? "%u,%u" : "%.0u%u", s->rows, s->cols);
        snprintf(header + strlen(header), sizeof header - strlen(header),
                 "%s\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                 i ? "," : "", inner ? prefix : "", inner ? s->hf + 6 : s->hf, shape,
                 (unsigned long long)at, (unsigned long long)(at + bytes));
        at += bytes;
    }
    strcat(header, "}");
    const uint64_t n = strlen(header);
    assert_true(8 + n + at <= sizeof data);
    memset(data, 0, sizeof data);
    memcpy(data, &n, 8);
    memcpy(data + 8, header, n);
    write_file("model.safetensors", data, 8 + n + at);
    write_file("config.json", config, strlen(config));
}

#define TINY                                                                                       \
    "\"model_type\":\"llama\",\"vocab_size\":10,\"hidden_size\":8,\"intermediate_size\":12,\"num_" \
    "hidden_layers\":1,"                                                                           \
    "\"num_attention_heads\":2,\"num_key_value_heads\":1"

static void expect_directory(quire_status status, const char *text)
{
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct qr_weights_params p = { .path = dir };
    const quire_status s = qr_weights_open(&p, &w, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("got %s \"%s\"\n", quire_status_name(s), err.msg);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
    if (w) {
        assert_string_equal(qr_weights_dir(w), dir);
        assert_string_equal(qr_weights_config(w)->name, strrchr(dir, '/') + 1);
    }
    qr_weights_close(w);
}

static void test_directory(void **state)
{
    (void)state;
    static const char *const prefixes[] = { "model.", "model.language_model.",
                                            "language_model.model.", "" };
    strcpy(dir, "/tmp/quire-hf-XXXXXX");
    assert_non_null(mkdtemp(dir));
    expect_directory(QUIRE_E_IO, "config.json");
    write_file("config.json", "{" TINY "}", strlen("{" TINY "}"));
    expect_directory(QUIRE_E_IO, "model.safetensors");
    for (int i = 0; i < 4; i++) {
        write_directory(prefixes[i],
                        i == 2 ? "{" TINY ",\"tie_word_embeddings\":true}" : "{" TINY "}");
        /* the head of such a file has the prefix, too: this one would be ignored */
        expect_directory(i == 2 ? QUIRE_E_UNSUPPORTED : QUIRE_OK, i == 2 ? "lm_head.weight" : "");
    }
    write_directory("other.", "{" TINY "}");
    expect_directory(QUIRE_E_FORMAT, "model.embed_tokens.weight is missing");
    write_directory("model.", "{" TINY ",\"attention_bias\":true}");
    expect_directory(QUIRE_E_FORMAT, "self_attn.q_proj.bias is missing");
    write_directory("model.", "{" TINY ",\"head_dim\":2}");
    expect_directory(QUIRE_E_FORMAT,
                     "q_proj.weight has 2 dimensions (8 x 8), the model description needs 4 x 8");
    write_directory("model.", "{" TINY "}");
    write_file("generation_config.json", "{\"eos_token_id\":[3,4]}", 22);
    expect_directory(QUIRE_OK, "");
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        struct qr_weights *w;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, n, n % 2);
        const struct qr_weights_params p = { .path = dir, .allocator = &f.hooks };
        const quire_status s = qr_weights_open(&p, &w, &err);
        assert_true(!w || qr_weights_config(w)->n_eos == 2);
        qr_weights_close(w);
        assert_int_equal(f.live_count, 0);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
    }
    write_file("generation_config.json", "{", 1);
    expect_directory(QUIRE_E_FORMAT, "generation_config.json");
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* ---- Reference models: a GGUF file and its directory contain the same values */

static float *read_all(struct qr_weights *w, const struct qr_weight *x)
{
    const uint64_t n = x->n_rows * x->n_cols;
    struct quire_error err = QUIRE_ERROR_INIT;
    float *v = malloc(n * sizeof *v);
    assert_status(QUIRE_OK, qr_weights_read_f32(w, x, v, n, &err));
    return v;
}

/* Row of q or k in a GGUF file of arch llama for row r of the directory: the converter makes the
 * elements of a rotary pair adjacent. */
static uint64_t permuted(const struct qr_model_config *c, enum qr_weight_role role, uint64_t r)
{
    if (c->n_rope == 0 || c->rope[0].kind != QR_ROPE_INTERLEAVED || c->mla.kv_lora_rank ||
        (role != QR_W_ATTN_Q && role != QR_W_ATTN_K))
        return r;
    const uint64_t in_head = r % c->head_dim, half = c->head_dim / 2;
    return r - in_head + (in_head % half) * 2 + in_head / half;
}

static void compare_role(struct qr_weights *g, struct qr_weights *h, enum qr_weight_role role,
                         uint32_t layer)
{
    const struct qr_model_config *c = qr_weights_config(g);
    struct qr_weight a, b;
    const bool there = qr_weights_find(g, role, layer, &a);
    assert_int_equal(there, qr_weights_find(h, role, layer, &b));
    if (!there)
        return;
    assert_true(a.n_rows == b.n_rows && a.n_cols == b.n_cols);
    assert_int_equal(a.n_experts, b.n_experts);
    for (uint32_t e = 1; e < a.n_experts; e++) {
        const struct qr_weight ea = qr_weights_expert(&a, e), eb = qr_weights_expert(&b, e);
        float *va = read_all(g, &ea), *vb = read_all(h, &eb);
        assert_memory_equal(va, vb, a.n_rows * a.n_cols * sizeof *va);
        free(va);
        free(vb);
    }
    float *va = read_all(g, &a), *vb = read_all(h, &b);
    const bool norm = strstr(qr_weight_role_name(role), "norm") != NULL;
    const enum qr_norm_kind kind = qr_weights_config(h)->norm;
    const bool plus1 = kind == QR_NORM_RMS_PLUS1 || kind == QR_NORM_LAYER_PLUS1;
    const float shift = norm && plus1 && !strstr(qr_weight_role_name(role), "bias") ? 1 : 0;
    for (uint64_t r = 0; r < a.n_rows; r++)
        for (uint64_t i = 0; i < a.n_cols; i++)
            if (va[permuted(c, role, r) * a.n_cols + i] != vb[r * a.n_cols + i] + shift)
                fail_msg("%s of layer %u differs at row %llu", qr_weight_role_name(role), layer,
                         (unsigned long long)r);
    free(va);
    free(vb);
}

static void test_reference_models(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "llama-f32", "llama" },
        { "llama-bf16", "llama" },
        { "qwen2-bf16", "qwen2" },
        { "qwen3-bf16", "qwen3" },
        { "gemma-bf16", "gemma" },
        { "phi3-bf16", "phi3" },
        { "gemma2_q32-bf16", "gemma2_q32" },
        { "granite-bf16", "granite" },
        { "gpt_neox-bf16", "gpt_neox" },
        { "gpt_bigcode-bf16", "gpt_bigcode" },
        { "mpt-bf16", "mpt" },
        { "falcon_new-bf16", "falcon_new" },
        { "olmo2-bf16", "olmo2" },
        { "nemotron-bf16", "nemotron" },
        { "stablelm-bf16", "stablelm" },
        { "phi-bf16", "phi" },
        { "mixtral-bf16", "mixtral" },
        { "qwen2_moe-bf16", "qwen2_moe" },
        { "qwen3_moe-bf16", "qwen3_moe" },
        { "deepseek_v2-bf16", "deepseek_v2" },
        { "deepseek_v2_lite-bf16", "deepseek_v2_lite" },
    };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char gguf[8192], folder[8192];
        struct qr_weights *g, *h;
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(gguf, sizeof gguf, "%s/goldens/gguf/%s.gguf", shared_dir(), pairs[i][0]);
        snprintf(folder, sizeof folder, "%s/goldens/%s", shared_dir(), pairs[i][1]);
        const struct qr_weights_params pg = { .path = gguf, .strict = true },
                                       ph = { .path = folder, .strict = true };
        assert_status(QUIRE_OK, qr_weights_open(&pg, &g, &err));
        assert_status(QUIRE_OK, qr_weights_open(&ph, &h, &err));
        for (int role = 0; role < QR_W_FIRST_LAYER_ROLE; role++)
            compare_role(g, h, (enum qr_weight_role)role, 0);
        for (uint32_t layer = 0; layer < qr_weights_config(g)->n_layers; layer++)
            for (int role = QR_W_FIRST_LAYER_ROLE; role < QR_W_N_ROLES; role++)
                compare_role(g, h, (enum qr_weight_role)role, layer);
        qr_weights_close(g);
        qr_weights_close(h);
    }
}

/* A copy of a file in which one tensor has a known but unsupported type of the same size. */
static void test_unsupported(void **state)
{
    (void)state;
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    char path[8192], *copy, name[] = "token_embd.weight";
    assert_status(QUIRE_E_INVALID_ARG, qr_weights_open(&(struct qr_weights_params){ 0 }, &w, &err));
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-f16.gguf", shared_dir());
    FILE *f = fopen(path, "rb");
    struct image m = { .data = malloc(4 << 20), .cap = 4 << 20 };
    assert_true(f && m.data);
    m.size = fread(m.data, 1, m.cap, f);
    fclose(f);
    uint8_t *type = memmem(m.data, m.size, name, strlen(name));
    assert_non_null(type);
    type[strlen(name) + 4 + 2 * 8] = 25; /* after u32 number of dimensions, two u64 */
    copy = to_file(&m);
    assert_status(QUIRE_E_UNSUPPORTED,
                  qr_weights_open(&(struct qr_weights_params){ .path = copy }, &w, &err));
    unlink(copy);
    free(copy);
    free(m.data);
    assert_true(strstr(err.msg, "I16") && strstr(err.msg, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_tensor_is_needed),
                                        cmocka_unit_test(test_extra_tensors),
                                        cmocka_unit_test(test_reads),
                                        cmocka_unit_test(test_progress_and_cancel),
                                        cmocka_unit_test(test_allocation_failures),
                                        cmocka_unit_test(test_directory),
                                        cmocka_unit_test(test_reference_models),
                                        cmocka_unit_test(test_unsupported) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
