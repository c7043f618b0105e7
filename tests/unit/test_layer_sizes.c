/* SPDX-License-Identifier: Apache-2.0 */
/* test_layer_sizes.c - layers with heads of their own, layers that read keys and values of others,
 * per-layer embeddings: configurations, KV groups, refused rows of embeddings. */
#include "model/config/validate.h"
#include "test_config.h"
#include "test_dir.h"
#include "test_hf.h"
#include <math.h>
#include <quire/kv_cache.h>
#include <quire/model.h>

#define TYPES                                                                                      \
    ",\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\","            \
    "\"full_attention\"],\"hidden_size_per_layer_input\":0"
#define GEMMA4(more) MODEL("gemma4_text", TYPES more)

static void global_heads(void **state)
{
    (void)state;
    struct qr_model_config c = good(GEMMA4(",\"head_dim\":8,\"global_head_dim\":24,\"num_global_"
                                           "key_value_heads\":1,\"attention_k_eq_v\":true"));
    assert_int_equal(c.head_dim, 24);
    for (uint32_t i = 0; i < 4; i++) {
        const struct qr_layer_config *l = &c.layers[i];
        assert_int_equal(l->head_dim, i % 2 ? 24 : 8);
        assert_int_equal(l->v_head_dim, i % 2 ? 24 : 8);
        assert_int_equal(l->n_kv_heads, i % 2 ? 1 : 4);
        assert_int_equal(l->v_is_k, i % 2);
        assert_int_equal(l->kv_source, i);
        assert_int_equal(c.rope[l->rope].dim, l->head_dim);
    }
    /* by default a quarter of a global head rotates, with the frequencies of the whole head */
    assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_FREQ_FACTORS);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(c.rope[0].factors_short[i] == (i < 3 ? 1.0f : 1e30f));
    assert_int_equal(c.rope[1].scaling, QR_ROPE_SCALING_NONE);
    qr_model_config_free(&c);
    /* without attention_k_eq_v the number of KV heads has no effect */
    c = good(GEMMA4(",\"num_global_key_value_heads\":1"));
    assert_int_equal(c.layers[1].head_dim, 512);
    assert_int_equal(c.layers[1].n_kv_heads, 4);
    assert_false(c.layers[1].v_is_k);
    qr_model_config_free(&c);
    c = good(GEMMA4(
        ",\"head_dim\":8,\"per_layer_config\":{\"1\":{\"head_dim\":16},\"3\":{\"head_dim\":16,"
        "\"num_key_value_heads\":2}}"));
    assert_int_equal(c.layers[1].head_dim, 16);
    assert_int_equal(c.layers[1].n_kv_heads, 4);
    assert_int_equal(c.layers[3].n_kv_heads, 2);
    qr_model_config_free(&c);
}

static void bad_heads(void **state)
{
    (void)state;
    bad(GEMMA4(",\"per_layer_config\":{\"4\":{\"head_dim\":16}}"), QUIRE_E_FORMAT,
        "per_layer_config.4");
    bad(GEMMA4(",\"per_layer_config\":{\"x\":{\"head_dim\":16}}"), QUIRE_E_FORMAT,
        "per_layer_config.x");
    bad(GEMMA4(",\"per_layer_config\":{\"\":{\"head_dim\":16}}"), QUIRE_E_FORMAT,
        "per_layer_config.");
    bad(GEMMA4(",\"per_layer_config\":{\"1\":3}"), QUIRE_E_FORMAT, "per_layer_config.1");
    bad(GEMMA4(",\"per_layer_config\":{\"1\":{\"head_dim\":0}}"), QUIRE_E_FORMAT,
        "per_layer_config.1.head_dim");
    bad(GEMMA4(",\"per_layer_config\":{\"1\":{\"intermediate_size\":16}}"), QUIRE_E_UNSUPPORTED,
        "per_layer_config.1.intermediate_size");
    bad(GEMMA4(",\"per_layer_config\":{\"1\":{\"num_key_value_heads\":3}}"), QUIRE_E_FORMAT,
        "3 kv heads");
    bad(GEMMA4(",\"global_head_dim\":2000"), QUIRE_E_FORMAT, "heads of 2000 dimensions");
    bad(GEMMA4(",\"head_dim\":2000"), QUIRE_E_FORMAT, "head_dim is 2000");
    bad(GEMMA4(",\"use_bidirectional_attention\":\"some\""), QUIRE_E_UNSUPPORTED, "some");
}

static void shared_kv(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(GEMMA4(",\"num_kv_shared_layers\":2,\"use_double_wide_mlp\":true"));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(c.layers[i].kv_source, i % 2);
        assert_int_equal(c.layers[i].ffn_size, i < 2 ? 160 : 320);
    }
    /* what the validator refuses */
    struct quire_error err = QUIRE_ERROR_INIT;
    c.layers[3].kv_source = 0;
    assert_status(QUIRE_E_FORMAT, qr_model_config_validate(&c, &err));
    assert_non_null(strstr(err.msg, "layer 3 cannot use the keys and values of layer 0"));
    c.layers[3].kv_source = 7;
    assert_status(QUIRE_E_FORMAT, qr_model_config_validate(&c, &err));
    c.layers[3].kv_source = 1;
    c.layers[1].mixer = QR_MIXER_NONE;
    assert_status(QUIRE_E_FORMAT, qr_model_config_validate(&c, &err));
    c.layers[1].mixer = QR_MIXER_ATTENTION;
    assert_status(QUIRE_OK, qr_model_config_validate(&c, &err));
    qr_model_config_free(&c);
    bad(GEMMA4(",\"num_kv_shared_layers\":4"), QUIRE_E_FORMAT, "4 of 4 layers");
    bad(GEMMA4(",\"num_kv_shared_layers\":3"), QUIRE_E_FORMAT, "keys and values of layer 1");
    bad(GEMMA4(",\"num_kv_shared_layers\":2,\"use_bidirectional_attention\":\"all\""),
        QUIRE_E_UNSUPPORTED, "decoders only");
}

static void per_layer_embeddings(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL(
        "gemma4_text", ",\"hidden_size_per_layer_input\":32,\"vocab_size_per_layer_input\":300"));
    assert_int_equal(c.ple.dim, 32);
    assert_int_equal(c.ple.vocab_size, 300);
    qr_model_config_free(&c);
    bad(MODEL("gemma4_text", ",\"vocab_size_per_layer_input\":0"), QUIRE_E_FORMAT,
        "vocabulary of per-layer embeddings");
    bad(MODEL("gemma4_text", ",\"hidden_size_per_layer_input\":2000000"), QUIRE_E_FORMAT,
        "size of per-layer embeddings");
    bad(MODEL("gemma4_text", ",\"use_bidirectional_attention\":\"all\""), QUIRE_E_UNSUPPORTED,
        "per-layer embeddings");
}

#define GEMMA3N(more)                                                                              \
    "{\"model_type\":\"gemma3n_text\",\"vocab_size\":320,\"hidden_size\":64,"                      \
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16," \
    "\"num_kv_shared_layers\":0" more "}"

static void residual_streams(void **state)
{
    (void)state;
    struct qr_model_config c = good(GEMMA3N(",\"intermediate_size\":[96,128],"
                                            "\"activation_sparsity_pattern\":[0.95,0]"));
    assert_int_equal(c.altup.n_streams, 4);
    assert_true(c.altup.correct_scale && c.altup.coef_clip == 120);
    assert_int_equal(c.laurel_rank, 64);
    assert_int_equal(c.layers[0].ffn_size, 96);
    assert_int_equal(c.layers[1].ffn_size, 128);
    assert_int_equal(c.max_ffn_size, 128);
    assert_true(c.layers[0].sparse_gate && !c.layers[1].sparse_gate);
    assert_true(fabsf(c.layers[0].gate_cutoff - 1.6448536f) < 1e-6f);
    qr_model_config_free(&c);
    c = good(GEMMA3N(",\"intermediate_size\":96,\"activation_sparsity_pattern\":0.5"));
    assert_true(c.layers[1].sparse_gate && fabsf(c.layers[1].gate_cutoff) < 1e-6f);
    qr_model_config_free(&c);
    bad(GEMMA3N(",\"intermediate_size\":[96]"), QUIRE_E_FORMAT, "must list 2 layers");
    bad(GEMMA3N(",\"intermediate_size\":[96,\"x\"]"), QUIRE_E_FORMAT, "intermediate_size[1]");
    bad(GEMMA3N(",\"activation_sparsity_pattern\":[0.5]"), QUIRE_E_FORMAT, "must list 2 layers");
    bad(GEMMA3N(",\"activation_sparsity_pattern\":[0.5,1]"), QUIRE_E_FORMAT,
        "activation_sparsity_pattern[1]");
    bad(GEMMA3N(",\"altup_num_inputs\":1"), QUIRE_E_FORMAT, "residual streams is 1");
    bad(GEMMA3N(",\"altup_num_inputs\":17"), QUIRE_E_FORMAT, "residual streams is 17");
    bad(GEMMA3N(",\"altup_active_idx\":4"), QUIRE_E_FORMAT, "active residual stream is 4");
    bad(GEMMA3N(",\"altup_coef_clip\":-1"), QUIRE_E_FORMAT, "AltUp coefficients");
    bad(GEMMA3N(",\"use_bidirectional_attention\":true"), QUIRE_E_UNSUPPORTED, "decoders only");
}

/* Experts only with the key that enables them. */
static void experts(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(GEMMA4(",\"num_experts\":4,\"top_k_experts\":2,\"moe_intermediate_size\":32"));
    assert_int_equal(c.moe.n_experts, 0);
    assert_false(c.layers[0].moe);
    qr_model_config_free(&c);
    c = good(GEMMA4(",\"enable_moe_block\":true,\"num_experts\":4,\"top_k_experts\":2,"
                    "\"moe_intermediate_size\":32"));
    assert_int_equal(c.moe.n_experts, 4);
    assert_int_equal(c.moe.ffn_size, 32);
    assert_true(c.layers[0].moe && c.moe.beside_dense);
    assert_int_equal(c.layers[0].ffn_size, 160);
    qr_model_config_free(&c);
}

static struct quire_model *open_golden(const char *name)
{
    char path[8192];
    struct quire_model *m;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    const struct quire_model_params p = { .struct_size = sizeof p, .path = path };
    assert_status(QUIRE_OK, quire_model_open(&p, &m, &err));
    return m;
}

/* Layers without keys of their own take no memory in the cache. */
static void kv_groups(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_golden("gemma4_text");
    struct quire_kv_group_config g[4];
    struct quire_model_info info = { .struct_size = sizeof info };
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(m, g, 4, &n));
    assert_int_equal(n, 2);
    assert_int_equal(g[0].n_layers, 2);
    assert_int_equal(g[0].head_size, 16);
    assert_int_equal(g[0].sliding_window, 16);
    assert_int_equal(g[1].n_layers, 1);
    assert_int_equal(g[1].head_size, 32);
    assert_int_equal(g[1].sliding_window, 0);
    assert_status(QUIRE_OK, quire_model_get_info(m, &info));
    assert_int_equal(info.n_layers, 5);
    assert_int_equal(info.n_attention_layers, 3);
    assert_int_equal(info.head_size, 32);
    assert_true(info.needs_token_ids);
    /* the table of per-layer embeddings, 320 x 80, is only looked up; the embedding is the head */
    assert_int_equal(info.weight_bytes - info.token_weight_bytes, 320 * 80 * 4);
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* Rows of embeddings have no token, so they have no per-layer embedding. */
static void refused_embeddings(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_golden("gemma4_text");
    struct quire_kv_group_config g[2];
    uint32_t n;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_cache *kv;
    struct quire_context *ctx;
    assert_status(QUIRE_OK, quire_model_kv_groups(m, g, 2, &n));
    for (uint32_t i = 0; i < n; i++)
        g[i].n_blocks = 2;
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .groups = g, .n_groups = n, .block_size = 16
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, &err));
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = kv;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &ctx, &err));
    int32_t block[2] = { 0, 0 };
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 1, &block[0], &err));
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 1, -1, 1, &block[1], &err));
    static const float row[64];
    const float *rows[1] = { row };
    const int32_t starts[] = { 0, 1 }, lens[] = { 1 }, ids[] = { 5 };
    const int64_t slots[2] = { (int64_t)block[0] * 16, (int64_t)block[1] * 16 };
    struct quire_attention_batch_group bg[2];
    for (uint32_t i = 0; i < 2; i++)
        bg[i] = (struct quire_attention_batch_group){ .block_table = &block[i],
                                                      .block_table_stride = 1,
                                                      .max_blocks = 1,
                                                      .slot_mapping = &slots[i] };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .groups = bg,
                                                 .n_groups = 2 };
    struct quire_forward_args a = { .struct_size = sizeof a, .batch = &batch, .embeddings = row };
    assert_status(QUIRE_E_UNSUPPORTED, quire_context_forward(ctx, &a, &err));
    assert_non_null(strstr(err.msg, "need token ids"));
    a = (struct quire_forward_args){
        .struct_size = sizeof a, .batch = &batch, .token_ids = ids, .embedding_rows = rows
    };
    assert_status(QUIRE_E_UNSUPPORTED, quire_context_forward(ctx, &a, &err));
    a.embedding_rows = NULL;
    assert_status(QUIRE_OK, quire_context_forward(ctx, &a, &err));
    quire_context_destroy(ctx);
    quire_kv_destroy(kv);
    assert_status(QUIRE_OK, quire_model_close(m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_heads),     cmocka_unit_test(bad_heads),
        cmocka_unit_test(shared_kv),        cmocka_unit_test(per_layer_embeddings),
        cmocka_unit_test(residual_streams), cmocka_unit_test(experts),
        cmocka_unit_test(kv_groups),        cmocka_unit_test(refused_embeddings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
