/* SPDX-License-Identifier: Apache-2.0 */
/* test_load_parts.c - parts of loading for which whole models of the reference data do not suffice:
 * lists without room, thousands of experts, GGUF files with a tensor per expert, scales of keys and
 * values in an encoder, rows of length 1. */
#include "model/load/kv_scales.h"
#include "model/load/low_rank.h"
#include "model/load/unit_rows.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"
#include "test_raw_folder.h"
#include <math.h>
#include <quire/model.h>

static struct raw_folder f;

/* ---- Lists without room. A chunk of an arena has 4096 bytes, of which 32 are its header */

enum { CHUNK = 4096, HEADER = 32 };

static void fill_all_but(struct qr_arena *arena, size_t room)
{
    qr_arena_init(arena, NULL, CHUNK);
    assert_non_null(qr_arena_alloc(arena, CHUNK - HEADER - room, 1));
}

static struct qr_weights *open_dir(void)
{
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct qr_weights_params p = { .path = dir };
    raw_write(&f);
    assert_status(QUIRE_OK, qr_weights_open(&p, &w, &err));
    return w;
}

static void low_rank_updates(void **state)
{
    (void)state;
    enum { LIST = QR_LOW_RANK_SITES * sizeof(struct qr_lora) };
    if (!need_shared())
        skip();
    raw_read(&f, "zamba2");
    struct qr_weights *w = open_dir();
    raw_clear(&f);
    const struct qr_model_config *c = qr_weights_config(w);
    uint32_t layer = 0;
    while (c->layers[layer].mixer != QR_MIXER_SHARED_BLOCK)
        layer++;
    for (size_t room = 0; room <= 2 * LIST; room += 16) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_model m = { .weights = w, .config = c };
        m.layers = calloc(c->n_layers, sizeof *m.layers);
        fill_all_but(&m.vectors, room);
        assert_status(QUIRE_OK, qr_low_rank_load(&m, 0, &err)); /* has none */
        assert_status(QUIRE_E_NOMEM, qr_low_rank_load(&m, layer, &err));
        assert_int_equal(strstr(err.msg, "no memory for the updates of layer") != NULL,
                         room < LIST);
        qr_arena_free(&m.vectors);
        free(m.layers);
    }
    qr_weights_close(w);
}

static void kv_scales(void **state)
{
    (void)state;
    static const float scales[] = { 0.25f, 2 };
    if (!need_shared())
        skip();
    raw_read(&f, "llama");
    memcpy(raw_add(&f, "model.layers.1.self_attn.k_scale", "F32", SHAPE(2))->data, scales,
           sizeof scales);
    struct qr_weights *w = open_dir();
    raw_clear(&f);
    for (size_t room = 0; room <= 16; room += 16) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_model m = { .weights = w, .config = qr_weights_config(w) };
        m.layers = calloc(m.config->n_layers, sizeof *m.layers);
        fill_all_but(&m.vectors, room);
        assert_status(room ? QUIRE_OK : QUIRE_E_NOMEM, qr_kv_scales_load(&m, &err));
        if (room)
            assert_memory_equal(m.layers[1].k_scale, scales, sizeof scales);
        else
            assert_non_null(strstr(err.msg, "no memory for KV scales"));
        assert_null(m.layers[1].v_scale);
        qr_arena_free(&m.vectors);
        free(m.layers);
    }
    qr_weights_close(w);
}

/* ---- Experts of GGUF files: a model of one layer, 2 heads of size 4, hidden size 8 */

/* Fails allocations of [size, size + 512) bytes. */
struct size_alloc {
    struct quire_allocator hooks;
    size_t size;
};

static void *get_small(void *user, size_t size, size_t align)
{
    const struct size_alloc *a = user;
    void *p = NULL;
    if (a->size && size >= a->size && size < a->size + 512)
        return NULL;
    return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size) ? NULL : p;
}

static void put_back(void *user, void *p, size_t size)
{
    (void)user, (void)size;
    free(p);
}

struct layout {
    struct image head, data;
};

static void put_zeros(struct layout *l, const char *name, uint32_t n_dims, uint64_t a, uint64_t b,
                      uint64_t c)
{
    const uint64_t dims[] = { a, b, c }, n = a * (n_dims > 1 ? b : 1) * (n_dims > 2 ? c : 1);
    put_tensor(&l->head, name, 0, n_dims, dims, l->data.size);
    for (uint64_t i = 0; i < n; i++)
        put_u32(&l->data, 0);
    pad_to(&l->data, 32);
}

static void put_experts(struct layout *l, uint32_t n, bool apart)
{
    static const char *const names[] = { "ffn_gate", "ffn_up", "ffn_down" };
    char name[64];
    for (int i = 0; i < 3; i++) {
        const uint64_t in = i < 2 ? 8 : 12, out = i < 2 ? 12 : 8;
        snprintf(name, sizeof name, "blk.0.%s_exps.weight", names[i]);
        if (!apart)
            put_zeros(l, name, 3, in, out, n);
        for (uint32_t e = 0; apart && e < n; e++) {
            snprintf(name, sizeof name, "blk.0.%s.%u.weight", names[i], e);
            put_zeros(l, name, 2, in, out, 1);
        }
    }
}

/* n experts in three tensors, or apart. */
static struct image make_experts(uint32_t n, bool apart)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = { { "llama.block_count", 1 },
                 { "llama.embedding_length", 8 },
                 { "llama.context_length", 64 },
                 { "llama.feed_forward_length", 12 },
                 { "llama.vocab_size", 10 },
                 { "llama.attention.head_count", 2 },
                 { "llama.attention.head_count_kv", 1 },
                 { "llama.expert_used_count", 2 } };
    enum { N_KEYS = sizeof keys / sizeof *keys };
    struct layout l = { 0 };
    put_head(&l.head, 3, 9 + (apart ? 3 * n : 3), N_KEYS + 3);
    put_kv_str(&l.head, "general.architecture", "llama");
    put_kv_f32(&l.head, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    put_kv_u32(&l.head, "llama.expert_count", n);
    for (size_t i = 0; i < N_KEYS; i++)
        put_kv_u32(&l.head, keys[i].key, keys[i].value);
    put_zeros(&l, "token_embd.weight", 2, 8, 10, 1);
    put_zeros(&l, "output_norm.weight", 1, 8, 1, 1);
    put_zeros(&l, "blk.0.attn_norm.weight", 1, 8, 1, 1);
    put_zeros(&l, "blk.0.attn_q.weight", 2, 8, 8, 1);
    put_zeros(&l, "blk.0.attn_k.weight", 2, 8, 4, 1);
    put_zeros(&l, "blk.0.attn_v.weight", 2, 8, 4, 1);
    put_zeros(&l, "blk.0.attn_output.weight", 2, 8, 8, 1);
    put_zeros(&l, "blk.0.ffn_norm.weight", 1, 8, 1, 1);
    put_zeros(&l, "blk.0.ffn_gate_inp.weight", 2, 8, n, 1);
    put_experts(&l, n, apart);
    pad_to(&l.head, 32);
    put(&l.head, l.data.data, l.data.size);
    drop(&l.data);
    return l.head;
}

static quire_status open_image(const struct image *m, size_t failing, struct quire_error *err)
{
    struct size_alloc a = { { &a, get_small, put_back }, failing };
    struct quire_model *model = NULL;
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    p.data = m->data;
    p.data_bytes = m->size;
    p.allocator = &a.hooks;
    const quire_status s = quire_model_open(&p, &model, err);
    assert_int_equal(s == QUIRE_OK, model != NULL);
    assert_status(QUIRE_OK, quire_model_close(model));
    return s;
}

static void experts(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (uint32_t n = 2; n <= 64; n *= 2)
        for (int apart = 0; apart < 2; apart++) {
            struct image m = make_experts(n, apart);
            if (open_image(&m, 0, &err) != QUIRE_OK)
                fail_msg("%u experts: %s", n, err.msg);
            drop(&m);
        }
    /* a list of 4001 experts takes 32008 bytes, which nothing else does */
    struct image m = make_experts(4001, false);
    assert_status(QUIRE_OK, open_image(&m, 0, &err));
    assert_status(QUIRE_E_NOMEM, open_image(&m, 32008, &err));
    assert_string_equal(err.msg, "no memory for expert_gate");
    drop(&m);
}

/* ---- Scales of keys and values in a model that has no cache */

static void encoder_scales(void **state)
{
    (void)state;
    struct quire_model *m = NULL;
    struct quire_model_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    raw_read(&f, "bert");
    raw_add(&f, "layers.0.self_attn.k_scale", "F32", SHAPE(1));
    raw_write(&f);
    raw_clear(&f);
    quire_model_params_init(&p, sizeof p);
    p.path = dir;
    p.linear = QUIRE_LINEAR_QUIRE;
    assert_status(QUIRE_E_FORMAT, quire_model_open(&p, &m, &err));
    assert_non_null(strstr(err.msg, "k_scale: the model has no such layer"));
    assert_null(m);
}

/* ---- Rows of length 1 (the LM head of Baichuan 2) */

static void unit_rows(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_weight w = { .role = QR_W_OUTPUT, .type = QR_WEIGHT_F32, .n_cols = 2 };
    float f32[] = { 3, -4, 0, 0, 1e-13f, 0 };
    uint16_t f16[] = { 0x4200, 0xc400 }, bf16[] = { 0x4040, 0xc080 }; /* 3, -4 */
    w.row_bytes = 2 * sizeof *f32;
    assert_status(QUIRE_OK, qr_unit_rows(&w, 3, f32, &err));
    assert_true(f32[0] == 0.6f && f32[1] == -0.8f && f32[2] == 0 && f32[3] == 0);
    assert_true(f32[4] == (float)((double)1e-13f / 1e-12) && f32[5] == 0);
    static float longer[600]; /* more than are converted at a time */
    for (int i = 0; i < 600; i++)
        longer[i] = i % 2 ? -7 : 7;
    w.n_cols = 600;
    w.row_bytes = sizeof longer;
    assert_status(QUIRE_OK, qr_unit_rows(&w, 1, longer, &err));
    for (int i = 0; i < 600; i++)
        assert_true(fabs((double)longer[i] - (i % 2 ? -1 : 1) / sqrt(600)) < 1e-8);
    w.n_cols = 2;
    w.row_bytes = 2 * sizeof *f16;
    w.type = QR_WEIGHT_F16;
    assert_status(QUIRE_OK, qr_unit_rows(&w, 1, f16, &err));
    assert_true(f16[0] == 0x38cd && f16[1] == 0xba66); /* 0.6, -0.8 */
    w.type = QR_WEIGHT_BF16;
    assert_status(QUIRE_OK, qr_unit_rows(&w, 1, bf16, &err));
    assert_true(bf16[0] == 0x3f1a && bf16[1] == 0xbf4d);
    w.type = QR_WEIGHT_Q8_0;
    assert_status(QUIRE_E_UNSUPPORTED, qr_unit_rows(&w, 1, f32, &err));
    assert_non_null(strstr(err.msg, "output has type Q8_0"));
}

/* The same for the LM head of a file. */
static void unit_head(void **state)
{
    static const char *const files[] = { "llama-f32", "llama-q8_0" };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 2; i++) {
        char path[4200];
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_weights *w;
        struct qr_weight head;
        float row[64];
        double sum = 0;
        const struct qr_weights_params p = { .path = path };
        snprintf(path, sizeof path, "%s/goldens/gguf/%s.gguf", shared_dir(), files[i]);
        assert_status(QUIRE_OK, qr_weights_open(&p, &w, &err));
        w->config.unit_head = true;
        assert_true(qr_weights_find(w, QR_W_OUTPUT, 0, &head));
        assert_true(head.row_bytes <= sizeof row);
        const quire_status s = qr_weights_read_rows(w, &head, 3, 1, row, &err);
        assert_int_equal(s, i ? QUIRE_E_UNSUPPORTED : QUIRE_OK);
        for (int k = 0; !i && k < 64; k++)
            sum += (double)row[k] * (double)row[k];
        assert_true(i ? strstr(err.msg, "output has type Q8_0") != NULL : fabs(sum - 1) < 1e-6);
        qr_weights_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_updates), cmocka_unit_test(unit_rows),
        cmocka_unit_test(kv_scales),        cmocka_unit_test(experts),
        cmocka_unit_test(encoder_scales),   cmocka_unit_test(unit_head),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
