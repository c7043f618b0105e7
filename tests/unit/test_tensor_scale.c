/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor_scale.c - matrices with a scale of their own: products, single rows, and the scales
 * of GGUF files. */
#include "base/team.h"
#include "format/gguf.h"
#include "kernels/dispatch.h"
#include "linear/dequantize.h"
#include "linear/linear.h"
#include "model/load/gguf_scales.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"
#include "test_dir.h"
#include "test_gguf.h"
#include <math.h>

/* ---- Products and rows */

enum { N = 83, K = 320, M = 17 };
static const float scale = 0.3f;

static uint32_t rng = 1;
static uint32_t random_u32(void)
{
    rng = rng * 1664525u + 1013904223u;
    return rng >> 8;
}
static float random_f32(void) { return (float)random_u32() * 0x1p-23f - 1; }

static struct qr_packed *random_weight(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *w;
    assert_status(QUIRE_OK, qr_packed_create(QR_WEIGHT_NVFP4, N, K, NULL, &w, &err));
    uint8_t *raw = malloc(N * w->row_bytes);
    assert_non_null(raw);
    for (size_t i = 0; i < N * w->row_bytes; i++)
        raw[i] = (uint8_t)random_u32();
    assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, N, raw, &err));
    free(raw);
    return w;
}

/* Multiplies one block of the M rows at x. */
static void multiply(const struct qr_packed *w, const float *x, const float *bias,
                     const struct qr_linear_block *b, enum quire_compute compute,
                     const struct qr_kernels *kernels, float *out)
{
    static _Alignas(64) uint8_t panels[4 * K * QR_FLOAT_PANEL_ROWS];
    const unsigned forms = qr_linear_act_forms(w, compute, kernels, 1);
    struct qr_act act;
    struct qr_unpacked unpacked;
    size_t bytes;
    assert_true(qr_act_bytes(forms, M, K, &bytes));
    void *memory = aligned_alloc(64, bytes + 64);
    assert_non_null(memory);
    qr_act_init(&act, forms, x, K, M, K, memory);
    qr_act_convert_rows(&act, kernels, 0, M);
    qr_unpacked_init(&unpacked, panels, sizeof panels);
    const struct qr_linear_args args = { .w = w,
                                         .x = &act,
                                         .out = out,
                                         .out_stride = N,
                                         .bias = bias,
                                         .compute = compute,
                                         .unpacked = &unpacked };
    qr_linear_run_block(&args, b, kernels);
    free(memory);
}

static void check_products(struct qr_packed *w, enum quire_compute compute,
                           const struct qr_kernels *kernels)
{
    static float x[M * K], bias[N], plain[M * N], scaled[M * N];
    const struct qr_linear_block all = { 0, N, 0, M }, part = { 16, N, 3, 9 };
    for (size_t i = 0; i < M * K; i++)
        x[i] = random_f32();
    for (size_t i = 0; i < N; i++)
        bias[i] = random_f32();
    qr_packed_set_scale(w, 1);
    multiply(w, x, NULL, &all, compute, kernels, plain);
    qr_packed_set_scale(w, scale);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        multiply(w, x, with_bias ? bias : NULL, &all, compute, kernels, scaled);
        for (size_t i = 0; i < M * N; i++) {
            const float product = plain[i] * scale,
                        want = with_bias ? product + bias[i % N] : product;
            if (memcmp(&want, &scaled[i], sizeof want) != 0)
                fail_msg("%s, compute %d: output %zu of row %zu is %a, not %a", kernels->level,
                         (int)compute, i % N, i / N, (double)scaled[i], (double)want);
        }
    }
    static float some[6 * N];
    multiply(w, x, bias, &part, compute, kernels, some);
    for (size_t i = 0; i < 6; i++)
        assert_memory_equal(some + i * N, scaled + (3 + i) * N + 16, (N - 16) * sizeof *some);
}

static void products_are_scaled_before_the_bias(void **state)
{
    (void)state;
    struct qr_packed *w = random_weight();
    for (int level = 0; qr_level_name(level); level++) {
        const struct qr_kernels *kernels = qr_level_table(level);
        for (int c = QUIRE_COMPUTE_NATIVE; kernels && c <= QUIRE_COMPUTE_THROUGHPUT; c++)
            check_products(w, (enum quire_compute)c, kernels);
    }
    qr_packed_destroy(w);
}

static void rows_are_scaled(void **state)
{
    (void)state;
    struct qr_packed *w = random_weight();
    float plain[K], scaled[K];
    for (size_t r = 0; r < N; r += 41) {
        qr_packed_set_scale(w, 1);
        qr_packed_unpack_row(w, r, plain);
        qr_packed_set_scale(w, scale);
        qr_packed_unpack_row(w, r, scaled);
        for (size_t k = 0; k < K; k++)
            assert_true(scaled[k] == plain[k] * scale);
    }
    qr_packed_destroy(w);
}

/* ---- GGUF files: one layer with two experts, whose queries and gates are NVFP4 */

enum { WIDTH = 64, EXPERTS = 2, VOCAB = 10 };

/* A further tensor. */
struct extra {
    const char *name;
    uint32_t type, n_dims;
    uint64_t dims[2];
    float values[4];
};

struct file {
    struct image head, data;
};

static void add(struct file *f, const char *name, uint32_t type, uint32_t n_dims,
                const uint64_t *dims, const float *values)
{
    uint64_t n = 1;
    put_tensor(&f->head, name, type, n_dims, dims, f->data.size);
    for (uint32_t d = 0; d < n_dims; d++)
        n *= dims[d];
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    for (uint64_t i = 0; i < n / info->block_elems * info->block_bytes; i += 2) {
        const uint8_t zeros[2] = { 0 };
        put(&f->data, values ? (const uint8_t *)values + i : zeros, 2);
    }
    pad_to(&f->data, 32);
}

static struct image make_model(const struct extra *extra, size_t n_extra)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = { { "llama.block_count", 1 },        { "llama.embedding_length", WIDTH },
                 { "llama.context_length", 64 },    { "llama.feed_forward_length", WIDTH },
                 { "llama.vocab_size", VOCAB },     { "llama.attention.head_count", 2 },
                 { "llama.expert_count", EXPERTS }, { "llama.expert_used_count", 2 } };
    static const struct {
        const char *name;
        uint32_t type, n_dims;
        uint64_t dims[3];
    } tensors[] = {
        { "token_embd.weight", 0, 2, { WIDTH, VOCAB } },
        { "output_norm.weight", 0, 1, { WIDTH } },
        { "blk.0.attn_norm.weight", 0, 1, { WIDTH } },
        { "blk.0.attn_q.weight", QR_WEIGHT_NVFP4, 2, { WIDTH, WIDTH } },
        { "blk.0.attn_k.weight", 0, 2, { WIDTH, WIDTH } },
        { "blk.0.attn_v.weight", 0, 2, { WIDTH, WIDTH } },
        { "blk.0.attn_output.weight", 0, 2, { WIDTH, WIDTH } },
        { "blk.0.ffn_norm.weight", 0, 1, { WIDTH } },
        { "blk.0.ffn_gate_inp.weight", 0, 2, { WIDTH, EXPERTS } },
        { "blk.0.ffn_gate_exps.weight", QR_WEIGHT_NVFP4, 3, { WIDTH, WIDTH, EXPERTS } },
        { "blk.0.ffn_up_exps.weight", 0, 3, { WIDTH, WIDTH, EXPERTS } },
        { "blk.0.ffn_down_exps.weight", 0, 3, { WIDTH, WIDTH, EXPERTS } },
    };
    enum { N_KEYS = sizeof keys / sizeof *keys, N_TENSORS = sizeof tensors / sizeof *tensors };
    struct file f = { 0 };
    put_head(&f.head, 3, N_TENSORS + n_extra, N_KEYS + 2);
    put_kv_str(&f.head, "general.architecture", "llama");
    put_kv_f32(&f.head, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (size_t i = 0; i < N_KEYS; i++)
        put_kv_u32(&f.head, keys[i].key, keys[i].value);
    for (size_t i = 0; i < N_TENSORS; i++)
        add(&f, tensors[i].name, tensors[i].type, tensors[i].n_dims, tensors[i].dims, NULL);
    for (size_t i = 0; i < n_extra; i++)
        add(&f, extra[i].name, extra[i].type, extra[i].n_dims, extra[i].dims, extra[i].values);
    pad_to(&f.head, 32);
    put(&f.head, f.data.data, f.data.size);
    drop(&f.data);
    return f.head;
}

static quire_status open_model(const struct image *m, const struct quire_allocator *a,
                               struct qr_weights **w, struct quire_error *err)
{
    const struct qr_weights_params p = {
        .memory = m->data, .memory_size = m->size, .allocator = a, .strict = true
    };
    return qr_weights_open(&p, w, err);
}

static float scale_of(const struct qr_weights *w, enum qr_weight_role role, uint32_t expert)
{
    struct qr_weight found;
    assert_true(qr_weights_find(w, role, 0, &found));
    if (found.n_experts)
        found = qr_weights_expert(&found, expert);
    return qr_weights_scale(w, &found);
}

static const struct extra scales[] = {
    { "blk.0.attn_q.scale", QR_WEIGHT_F32, 1, { 1 }, { 0.5f } },
    { "blk.0.attn_q.input_scale", QR_WEIGHT_F32, 1, { 1 }, { 7 } },
    { "blk.0.ffn_gate_exps.scale", QR_WEIGHT_F32, 1, { 2 }, { 2, 3 } },
};
enum { N_SCALES = sizeof scales / sizeof *scales };

static void files_have_scales(void **state)
{
    (void)state;
    static const struct extra one = { "blk.0.ffn_gate_exps.scale", QR_WEIGHT_F32, 1, { 1 }, { 5 } };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_weights *w;
    struct image m = make_model(scales, N_SCALES);
    if (open_model(&m, NULL, &w, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    assert_true(scale_of(w, QR_W_ATTN_Q, 0) == 0.5f);
    assert_true(scale_of(w, QR_W_ATTN_K, 0) == 1);
    assert_true(scale_of(w, QR_W_EXPERT_GATE, 0) == 2 && scale_of(w, QR_W_EXPERT_GATE, 1) == 3);
    assert_true(scale_of(w, QR_W_EXPERT_UP, 1) == 1);
    qr_weights_close(w);
    drop(&m);
    m = make_model(&one, 1);
    assert_status(QUIRE_OK, open_model(&m, NULL, &w, &err));
    assert_true(scale_of(w, QR_W_EXPERT_GATE, 0) == 5 && scale_of(w, QR_W_EXPERT_GATE, 1) == 5);
    qr_weights_close(w);
    drop(&m);
}

static void bad_scales(void **state)
{
    static char longest[200];
    (void)state;
    static const struct {
        struct extra extra;
        quire_status status;
        const char *text;
    } cases[] = {
        { { "blk.0.attn_q.scale", QR_WEIGHT_F16, 1, { 1 }, { 0 } },
          QUIRE_E_UNSUPPORTED,
          "blk.0.attn_q.scale is not F32" },
        { { "blk.0.attn_q.scale", QR_WEIGHT_F32, 1, { 2 }, { 1, 1 } },
          QUIRE_E_FORMAT,
          "attn_q.scale has 2 values in 1 dimensions, its weight has 1 matrix" },
        { { "blk.0.attn_q.scale", QR_WEIGHT_F32, 2, { 1, 1 }, { 1 } },
          QUIRE_E_FORMAT,
          "1 values in 2 dimensions" },
        { { "blk.0.ffn_gate_exps.scale", QR_WEIGHT_F32, 1, { 3 }, { 1, 1, 1 } },
          QUIRE_E_FORMAT,
          "3 values in 1 dimensions, its weight has 2 matrices" },
        { { "blk.0.ffn_gate_exps.scale", QR_WEIGHT_F32, 1, { 2 }, { 1, NAN } },
          QUIRE_E_FORMAT,
          "ffn_gate_exps.scale: value 1 is nan, not finite" },
        { { "blk.0.attn_q.scale", QR_WEIGHT_F32, 1, { 1 }, { -INFINITY } },
          QUIRE_E_FORMAT,
          "value 0 is -inf" },
        /* not of an NVFP4 tensor */
        { { "blk.0.attn_k.scale", QR_WEIGHT_F32, 1, { 1 }, { 1 } },
          QUIRE_E_UNSUPPORTED,
          "blk.0.attn_k.scale does not belong" },
        { { "blk.0.attn_k.input_scale", QR_WEIGHT_F32, 1, { 1 }, { 1 } },
          QUIRE_E_UNSUPPORTED,
          "blk.0.attn_k.input_scale does not belong" },
        { { "blk.0.attn_z.scale", QR_WEIGHT_F32, 1, { 1 }, { 1 } },
          QUIRE_E_UNSUPPORTED,
          "does not belong" },
        { { ".scale", QR_WEIGHT_F32, 1, { 1 }, { 1 } }, QUIRE_E_UNSUPPORTED, "does not belong" },
        { { longest, QR_WEIGHT_F32, 1, { 1 }, { 1 } }, QUIRE_E_UNSUPPORTED, "does not belong" },
    };
    memset(longest, 'x', sizeof longest - sizeof ".scale");
    strcpy(longest + sizeof longest - sizeof ".scale", ".scale");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_weights *w;
        struct image m = make_model(&cases[i].extra, 1);
        const quire_status s = open_model(&m, NULL, &w, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].text))
            fail_msg("%s: %s \"%s\"", cases[i].extra.name, quire_status_name(s), err.msg);
        drop(&m);
    }
}

static void memory_can_fail(void **state)
{
    (void)state;
    struct image m = make_model(scales, N_SCALES);
    for (size_t n = 1, done = 0; !done; n++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_weights *w;
        struct fail_alloc a;
        fail_alloc_init(&a, n, false);
        const quire_status s = open_model(&m, &a.hooks, &w, &err);
        done = a.calls < n;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        qr_weights_close(w);
        assert_int_equal(a.live_count, 0);
    }
    drop(&m);
}

/* Room for the list of tensors with scales, but not for a scale. */
static void no_room_for_values(void **state)
{
    (void)state;
    enum { CHUNK = 4096, HEADER = 32, LIST = 13 * sizeof(struct qr_tensor_scales) };
    struct image m = make_model(scales, 1);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, &err));
    assert_int_equal(qr_gguf_tensor_count(g), 13);
    for (size_t room = 0; room <= LIST + 16; room += 16) {
        struct qr_weights w = { .gguf = g };
        uint8_t used[13] = { 0 };
        qr_arena_init(&w.lists, NULL, CHUNK);
        assert_non_null(qr_arena_alloc(&w.lists, CHUNK - HEADER - room, 1));
        assert_status(room > LIST ? QUIRE_OK : QUIRE_E_NOMEM, qr_gguf_scales_bind(&w, used, &err));
        assert_int_equal(used[12], room > LIST);
        if (room <= LIST)
            assert_string_equal(err.msg, room < LIST ? "no memory for the scales of 13 tensors"
                                                     : "no memory for blk.0.attn_q.scale");
        qr_arena_free(&w.lists);
    }
    qr_gguf_close(g);
    drop(&m);
}

/* A file that ends before a scale when it is read. */
static void short_file(void **state)
{
    (void)state;
    char path[96];
    struct image m = make_model(scales, 1);
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint8_t used[13] = { 0 };
    snprintf(path, sizeof path, "%s/scale.gguf", dir);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(m.data, 1, m.size, file), m.size);
    assert_int_equal(fclose(file), 0);
    drop(&m);
    assert_status(QUIRE_OK, qr_gguf_open(path, NULL, NULL, &g, &err));
    struct qr_weights w = { .gguf = g };
    qr_arena_init(&w.lists, NULL, 0);
    assert_int_equal(truncate(path, (off_t)qr_gguf_tensor(g, 12)->offset), 0);
    assert_status(QUIRE_E_IO, qr_gguf_scales_bind(&w, used, &err));
    assert_int_equal(used[12], 0);
    qr_arena_free(&w.lists);
    qr_gguf_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_scaled_before_the_bias),
        cmocka_unit_test(rows_are_scaled),
        cmocka_unit_test(files_have_scales),
        cmocka_unit_test(bad_scales),
        cmocka_unit_test(memory_can_fail),
        cmocka_unit_test(no_room_for_values),
        cmocka_unit_test(short_file),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
