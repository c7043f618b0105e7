/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv_attention.c - convolutional attention: config.json, its limits, and the tensors of a
 * folder. */
#include "model/load/weights.h"
#include "test_folder.h"
#include "test_hf.h"

/* Four layers, two of them with a window. */
#define ROPE                                                                                       \
    ",\"rope_parameters\":{\"hybrid\":{\"rope_theta\":700000},"                                    \
    "\"hybrid_sliding\":{\"rope_theta\":500,\"partial_rotary_factor\":1.0}}"
#define TYPES                                                                                      \
    ",\"layer_types\":[\"hybrid\",\"hybrid_sliding\",\"hybrid\",\"hybrid_sliding\"],"              \
    "\"sliding_window\":24"
#define SMALL      ",\"num_key_value_heads\":2,\"head_dim\":16,\"num_experts\":4"
#define ZAYA(more) MODEL("zaya", SMALL more)

static void config(void **state)
{
    (void)state;
    struct qr_model_config c = good(ZAYA(TYPES ROPE ",\"cca_time0\":3,\"cca_time1\":4"));
    assert_true(c.conv_attention.channel_taps == 3 && c.conv_attention.head_taps == 4);
    assert_true(c.qk_norm == QR_QK_NORM_UNIT && c.residual_affine && c.embedding_affine);
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 24 && c.layers[3].rope == 1);
    assert_true(c.rope[0].theta == 700000 && c.rope[0].dim == 8);
    assert_true(c.rope[1].theta == 500 && c.rope[1].dim == 16);
    assert_true(c.moe.n_experts == 4 && c.moe.top_k == 1 && c.moe.n_zero == 1 && c.moe.correction);
    assert_true(c.moe.router_hidden == 256 && c.moe.ffn_size == 2048 && !c.moe.renormalize);
    assert_true(c.layers[0].moe && c.layers[3].moe && c.tied_embeddings && !c.bias.q);
    qr_model_config_free(&c);
    c = good(ZAYA(",\"attention_bias\":true,\"lm_head_bias\":true,\"router_hidden_size\":40,"
                  "\"tie_word_embeddings\":false,\"moe_intermediate_size\":24"));
    assert_true(c.bias.q && c.bias.k && c.bias.v && c.bias.o && c.bias.output);
    assert_true(!c.tied_embeddings && c.moe.router_hidden == 40 && c.moe.ffn_size == 24);
    assert_true(c.layers[1].window == 0 && c.rope[0].theta == 5000000 && c.rope[0].dim == 8);
    assert_true(c.conv_attention.channel_taps == 2 && c.conv_attention.head_taps == 2);
    qr_model_config_free(&c);
}

static void bad_config(void **state)
{
    (void)state;
    bad(ZAYA(",\"cca_time0\":0"), QUIRE_E_FORMAT, "cca_time0 is 0");
    bad(ZAYA(",\"cca_time1\":0"), QUIRE_E_FORMAT, "cca_time1 is 0");
    bad(ZAYA(",\"cca_time0\":33"), QUIRE_E_FORMAT, "taps of the channels' convolution is 33");
    bad(ZAYA(",\"cca_time1\":4000000000"), QUIRE_E_FORMAT, "taps of the heads' convolution");
    bad(ZAYA(",\"cca_time0\":\"two\""), QUIRE_E_FORMAT, "cca_time0");
    bad(ZAYA(",\"cca_time1\":null"), QUIRE_E_FORMAT, "cca_time1 is missing");
    bad(ZAYA(",\"router_hidden_size\":0"), QUIRE_E_FORMAT, "router_hidden_size is 0");
    bad(ZAYA(",\"router_hidden_size\":4000000000"), QUIRE_E_FORMAT, "hidden size of the router");
    bad(ZAYA(",\"router_hidden_size\":{}"), QUIRE_E_FORMAT, "router_hidden_size");
    bad(ZAYA(",\"num_experts\":0"), QUIRE_E_FORMAT, "num_experts is 0");
    bad(ZAYA(",\"num_experts_per_tok\":2"), QUIRE_E_UNSUPPORTED, "num_experts_per_tok is 2");
    bad(ZAYA(",\"num_experts_per_tok\":0"), QUIRE_E_UNSUPPORTED, "num_experts_per_tok is 0");
    bad(ZAYA(",\"num_key_value_heads\":1,\"num_attention_heads\":1,\"head_dim\":15"),
        QUIRE_E_FORMAT, "have no half");
    bad(ZAYA(",\"num_key_value_heads\":3"), QUIRE_E_FORMAT, "not a multiple of its 3 kv heads");
    bad(ZAYA(",\"n_shared_experts\":1"), QUIRE_E_UNSUPPORTED, "a router of several layers");
    bad(ZAYA(",\"zaya_use_mod\":false,\"zaya_use_eda\":true"), QUIRE_E_UNSUPPORTED, "zaya_use_eda");
    bad(ZAYA(",\"hidden_act\":\"mish\""), QUIRE_E_UNSUPPORTED, "mish");
    /* types of layers, windows, RoPE */
    bad(ZAYA(",\"sliding_window\":24"), QUIRE_E_FORMAT, "layer_types is missing");
    bad(ZAYA(TYPES ROPE ",\"sliding_window\":null"), QUIRE_E_FORMAT, "sliding_window is missing");
    bad(ZAYA(TYPES ROPE ",\"sliding_window\":0"), QUIRE_E_FORMAT, "sliding_window is missing");
    bad(ZAYA(TYPES ",\"layer_types\":[\"hybrid\"]"), QUIRE_E_FORMAT, "must list 4 layers");
    bad(ZAYA(TYPES ",\"layer_types\":[\"hybrid\",\"full_attention\",\"hybrid\",\"hybrid\"]"),
        QUIRE_E_UNSUPPORTED, "layer_types[1] is full_attention");
    bad(ZAYA(",\"layer_types\":[\"hybrid\",\"hybrid\",\"sliding_attention\",\"hybrid\"]"),
        QUIRE_E_UNSUPPORTED, "layer_types[2] is sliding_attention");
    bad(ZAYA(",\"layer_types\":[\"hybrid\",\"hybrid\",\"hybrid\",7]"), QUIRE_E_UNSUPPORTED,
        "layer_types[3] is not a string");
    bad(ZAYA(TYPES ",\"rope_parameters\":{\"hybrid\":{\"rope_theta\":100}}"), QUIRE_E_FORMAT,
        "no object hybrid_sliding");
    bad(ZAYA(ROPE ",\"rope_parameters\":{\"hybrid\":{\"partial_rotary_factor\":2}}"),
        QUIRE_E_FORMAT, "partial_rotary_factor");
}

static quire_status open_weights(struct quire_error *err)
{
    const struct qr_weights_params p = { .path = dir, .strict = true };
    struct qr_weights *w;
    const quire_status s = qr_weights_open(&p, &w, err);
    qr_weights_close(w);
    return s;
}

/* Every tensor is needed, and has one shape. */
static void tensors(void **state)
{
    (void)state;
    struct folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    read_folder(&f, "zaya");
    write_folder(&f, none, none);
    assert_status(QUIRE_OK, open_weights(&err));
    for (size_t i = 0; i < f.n; i++) {
        write_folder(&f, i, none);
        assert_status(QUIRE_E_FORMAT, open_weights(&err));
        assert_non_null(strstr(err.msg, f.t[i].name));
        write_folder(&f, none, i);
        assert_status(QUIRE_E_FORMAT, open_weights(&err));
        assert_non_null(strstr(err.msg, f.t[i].name));
    }
    add(&f, "model.layers.0.mlp.gate.router_states_scale", 1, 32); /* the first layer has none */
    write_folder(&f, none, none);
    assert_status(QUIRE_E_UNSUPPORTED, open_weights(&err));
    assert_non_null(strstr(err.msg, "layers.0.mlp.gate.router_states_scale"));
    free_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config),
        cmocka_unit_test(bad_config),
        cmocka_unit_test(tensors),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
