/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_validate.c - fields of a configuration out of range, of which the readers of files
 * refuse some before; names with patterns; infinities of Python. */
#include "model/arch/arch.h"
#include "model/config/hf_text.h"
#include "model/config/unknown.h"
#include "model/config/validate.h"
#include "test_hf.h"
#include <math.h>

/* A llama of 4 layers, with a further change by the caller. */
static struct qr_model_config llama(void) { return good(MODEL("llama", "")); }

#define REFUSED(cfg, status, text)                                                                 \
    do {                                                                                           \
        struct quire_error err_ = QUIRE_ERROR_INIT;                                                \
        assert_status(status, qr_model_config_validate(&(cfg), &err_));                            \
        if (!strstr(err_.msg, text))                                                               \
            fail_msg("\"%s\", expected \"%s\"", err_.msg, text);                                   \
    } while (0)

static void test_sizes(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one = c;
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    bad_one.n_layers = 0;
    REFUSED(bad_one, QUIRE_E_FORMAT, "number of layers is 0, 1 to 1024 allowed");
    bad_one = c;
    bad_one.class_head = QR_CLASS_PLAIN;
    bad_one.n_labels = 0;
    REFUSED(bad_one, QUIRE_E_FORMAT, "number of labels is 0");
    bad_one = c;
    bad_one.bos_id = -2;
    REFUSED(bad_one, QUIRE_E_FORMAT, "bos token id -2 is outside the vocabulary of 320");
    c.layers[2].rope = 7;
    REFUSED(c, QUIRE_E_INTERNAL, "layer 2 names RoPE set 7 of 1");
    qr_model_config_free(&c);
}

static void test_scales(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one = c;
    bad_one.ffn_gate_scale = INFINITY;
    REFUSED(bad_one, QUIRE_E_FORMAT, "gate scale is inf");
    bad_one = c;
    bad_one.ffn_out_scale = NAN;
    REFUSED(bad_one, QUIRE_E_FORMAT, "feed-forward output scale is ");
    bad_one = c;
    bad_one.activation = QR_ACT_SWIGLU_OAI;
    bad_one.act_alpha = 0;
    REFUSED(bad_one, QUIRE_E_FORMAT, "activation alpha is 0");
    bad_one.act_alpha = 1;
    bad_one.act_limit = 0;
    REFUSED(bad_one, QUIRE_E_FORMAT, "activation limit is 0");
    qr_model_config_free(&c);
}

static void test_rope(void **state)
{
    (void)state;
    static const float factors[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
    struct qr_model_config c = llama(), bad_one = c;
    bad_one.rope[0].factors_long = factors;
    REFUSED(bad_one, QUIRE_E_FORMAT, "RoPE long factor is 0");
    bad_one = c;
    bad_one.rope[0].scaling = QR_ROPE_SCALING_DYNAMIC;
    bad_one.rope[0].original_context = 64;
    bad_one.rope[0].dim = 2;
    REFUSED(bad_one, QUIRE_E_FORMAT, "dynamic RoPE scaling with 2 dimensions");
    bad_one = c;
    bad_one.rope[0] = (struct qr_rope_config){ .kind = QR_ROPE_NONE };
    assert_status(QUIRE_OK, qr_model_config_validate(&bad_one, NULL));
    bad_one = c;
    bad_one.mla = (struct qr_mla_config){ .kv_lora_rank = 8, .qk_nope_dim = 8, .qk_rope_dim = 8 };
    REFUSED(bad_one, QUIRE_E_FORMAT, "16 rotary dimensions, but qk_rope_head_dim is 8");
    bad_one.rope[0].dim = 8;
    bad_one.n_rope = 2;
    bad_one.rope[1] = bad_one.rope[0];
    REFUSED(bad_one, QUIRE_E_FORMAT, "8 rotary dimensions, but qk_rope_head_dim is 8");
    qr_model_config_free(&c);
}

static void test_recurrent(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one = c;
    bad_one.recurrent = (struct qr_recurrent_config){ .kind = QR_RECURRENT_MAMBA2,
                                                      .n_heads = 4096,
                                                      .n_key_heads = 1,
                                                      .key_dim = 8,
                                                      .value_dim = 1024,
                                                      .conv_taps = 4,
                                                      .norm_dim = 1 };
    REFUSED(bad_one, QUIRE_E_FORMAT, "recurrent values is 4194304");
    bad_one.recurrent.value_dim = 8;
    bad_one.recurrent.norm_dim = 0;
    REFUSED(bad_one, QUIRE_E_FORMAT, "32768 recurrent values, not a multiple of norms of 0");
    bad_one.recurrent.norm_dim = 3;
    REFUSED(bad_one, QUIRE_E_FORMAT, "32768 recurrent values, not a multiple of norms of 3");
    qr_model_config_free(&c);
}

static void test_cross_attention(void **state)
{
    (void)state;
    struct qr_model_config c = llama();
    c.kind = QR_MODEL_ENCODER_DECODER;
    c.block = QR_BLOCK_PARALLEL;
    REFUSED(c, QUIRE_E_INTERNAL, "does not support cross attention");
    qr_model_config_free(&c);
}

/* ---- Parts that do not go together; the readers of files refuse most of them before */

/* Encoders, and blocks other than those of the families that have such a part. */
static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        struct qr_altup_config altup;
        struct qr_hyper_config hyper;
        enum qr_block_kind good, wrong;
        const char *text;
    } parts[] = {
        { { .n_streams = 2 },
          { 0 },
          QR_BLOCK_SANDWICH_NORM,
          QR_BLOCK_PRE_NORM,
          "several residual streams are supported in decoders only" },
        { { 0 },
          { .kind = QR_HYPER_GATED, .n_streams = 2, .rank = 1 },
          QR_BLOCK_PRE_NORM,
          QR_BLOCK_PARALLEL,
          "hyper-connections are supported in decoders only" },
        { { 0 },
          { .kind = QR_HYPER_GATED, .n_streams = 2, .rank = 1 },
          QR_BLOCK_PLAIN,
          QR_BLOCK_POST_NORM,
          "hyper-connections are supported in decoders only" },
    };
    struct qr_model_config c = llama();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct qr_model_config other = c;
        other.altup = parts[i].altup;
        other.hyper = parts[i].hyper;
        other.block = parts[i].good;
        assert_status(QUIRE_OK, qr_model_config_validate(&other, NULL));
        other.kind = QR_MODEL_ENCODER;
        REFUSED(other, QUIRE_E_UNSUPPORTED, parts[i].text);
        other.kind = QR_MODEL_DECODER;
        other.block = parts[i].wrong;
        REFUSED(other, QUIRE_E_UNSUPPORTED, parts[i].text);
    }
    c.altup.n_streams = 2;
    c.block = QR_BLOCK_SANDWICH_NORM;
    c.layers[1].sparse_gate = true;
    c.layers[1].gate_cutoff = 101;
    REFUSED(c, QUIRE_E_FORMAT, "cutoff of sparse gates is 101");
    qr_model_config_free(&c);
}

static const struct qr_mla_config latent = { .kv_lora_rank = 8,
                                             .qk_nope_dim = 8,
                                             .qk_rope_dim = 8 };

static void test_convolutions(void **state)
{
    (void)state;
    static const char text[] = "a model of this kind with convolutional attention";
    struct qr_model_config c = llama(), bad_one;
    c.conv_attention = (struct qr_conv_attention_config){ 2, 2 };
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    bad_one = c;
    bad_one.kind = QR_MODEL_ENCODER;
    REFUSED(bad_one, QUIRE_E_INTERNAL, text);
    bad_one = c;
    bad_one.mla = latent;
    bad_one.rope[0].dim = 8;
    REFUSED(bad_one, QUIRE_E_INTERNAL, text);
    bad_one = c;
    bad_one.differential = true;
    REFUSED(bad_one, QUIRE_E_INTERNAL, text);
    bad_one = c;
    bad_one.key_bias = true;
    REFUSED(bad_one, QUIRE_E_INTERNAL, text);
    qr_model_config_free(&c);
}

/* A llama whose last layer reads keys and values of the first. */
static struct qr_model_config sharing(void)
{
    struct qr_model_config c = llama();
    c.layers[3].kv_source = 0;
    return c;
}

static void test_shared_keys(void **state)
{
    (void)state;
    static const char text[] = "layer 3 cannot use the keys and values of layer 0";
    struct qr_model_config c = sharing();
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    c.mla = latent;
    c.rope[0].dim = 8;
    REFUSED(c, QUIRE_E_UNSUPPORTED, "share keys and values with latent attention");
    qr_model_config_free(&c);
    for (int i = 0; i < 4; i++) {
        c = sharing();
        c.layers[3].chunked = i == 0;
        c.layers[3].n_kv_heads = i == 1 ? 2 : 4;
        c.layers[3].head_dim = i == 2 ? 32 : 16;
        c.layers[3].v_head_dim = i == 3 ? 32 : 16;
        REFUSED(c, QUIRE_E_FORMAT, text);
        qr_model_config_free(&c);
    }
    c = sharing();
    c.layers[2].kv_source = 0;
    c.layers[3].kv_source = 2; /* which has none of its own */
    REFUSED(c, QUIRE_E_FORMAT, "layer 3 cannot use the keys and values of layer 2");
    c.layers[3].kv_source = QR_KV_OF_BASE; /* which heads may use */
    REFUSED(c, QUIRE_E_FORMAT, "layer 3 cannot use");
    qr_model_config_free(&c);
}

/* A llama whose layers 1 and 2 share the block of layer 1. */
static struct qr_model_config with_block(void)
{
    struct qr_model_config c = llama();
    c.shared_block.rank = 4;
    for (uint32_t i = 1; i < 3; i++) {
        c.layers[i].mixer = QR_MIXER_SHARED_BLOCK;
        c.layers[i].block_owner = 1;
    }
    return c;
}

static void test_shared_blocks(void **state)
{
    (void)state;
    static const char text[] = "layer 2 cannot share the block of layer 1";
    struct qr_model_config c = with_block();
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    c.block = QR_BLOCK_SANDWICH_NORM;
    REFUSED(c, QUIRE_E_INTERNAL, "layer 1 cannot share the block of layer 1");
    qr_model_config_free(&c);
    for (int i = 0; i < 5; i++) {
        c = with_block();
        struct qr_layer_config *l = &c.layers[2];
        l->moe = i == 0;
        l->n_heads = i == 1 ? 8 : 4;
        l->n_kv_heads = i == 2 ? 2 : 4;
        l->ffn_size = i == 3 ? 100 : 160;
        if (i == 4)
            c.layers[1].mixer = QR_MIXER_ATTENTION;
        REFUSED(c, QUIRE_E_INTERNAL, text);
        qr_model_config_free(&c);
    }
}

static void test_selected_keys(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one;
    c.index = (struct qr_index_config){
        .n_heads = 1, .head_dim = 16, .top_k = 1, .block_size = 1, .weighted = true
    };
    c.layers[0].index = QR_INDEX_OWN;
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    bad_one = c;
    bad_one.index.head_dim = 8;
    REFUSED(bad_one, QUIRE_E_FORMAT, "index heads of 8 dimensions, 16 of them rotary");
    for (uint32_t i = 0; i < 4; i++)
        c.layers[i].rope = QR_LAYER_NO_ROPE;
    c.n_rope = 0;
    REFUSED(c, QUIRE_E_FORMAT, "index heads of 16 dimensions, 0 of them rotary");
    qr_model_config_free(&c);
}

static void test_keys_as_values(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one;
    c.mla.q_lora_rank = 8;
    c.shared_kv = (struct qr_shared_kv_config){ .o_groups = 2, .o_rank = 8 };
    c.n_rope = 2;
    c.rope[1] = c.rope[0];
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    bad_one = c;
    bad_one.shared_kv.o_groups = 1 << 18;
    REFUSED(bad_one, QUIRE_E_FORMAT, "outputs of o_lora_rank is 2097152");
    bad_one = c;
    bad_one.v_head_dim = 8;
    REFUSED(bad_one, QUIRE_E_FORMAT, "keys of 16 elements, 16 and 16 of them rotary");
    bad_one = c;
    bad_one.n_rope = 1;
    REFUSED(bad_one, QUIRE_E_FORMAT, "are not the values of 16");
    bad_one = c;
    bad_one.rope[1].dim = 8;
    REFUSED(bad_one, QUIRE_E_FORMAT, "16 and 8 of them rotary");
    qr_model_config_free(&c);
}

static void test_experts(void **state)
{
    (void)state;
    struct qr_model_config c = llama(), bad_one;
    c.layers[0].moe = true;
    c.moe = (struct qr_moe_config){ .n_experts = 4,
                                    .top_k = 1,
                                    .ffn_size = 8,
                                    .n_groups = 2,
                                    .topk_groups = 1,
                                    .weights_scale = 1 };
    assert_status(QUIRE_OK, qr_model_config_validate(&c, NULL));
    bad_one = c;
    bad_one.moe.n_zero = 5000;
    REFUSED(bad_one, QUIRE_E_FORMAT, "number of experts that return zero is 5000");
    bad_one = c;
    bad_one.moe.n_identity = 1;
    REFUSED(bad_one, QUIRE_E_UNSUPPORTED, "groups of experts together with identity experts");
    bad_one = c;
    bad_one.moe.n_zero = 1;
    REFUSED(bad_one, QUIRE_E_UNSUPPORTED, "groups of experts together with identity experts");
    bad_one.moe.n_groups = 1;
    assert_status(QUIRE_OK, qr_model_config_validate(&bad_one, NULL));
    qr_model_config_free(&c);
}

/* ---- Texts of config.json that each have one unusual value */

static void test_accepted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        MODEL("falcon", ",\"alibi\":true,\"transformers_version\":\"4:1\""),
        MODEL("falcon", ",\"alibi\":true,\"transformers_version\":\"99999\""),
        MODEL("falcon", ",\"alibi\":true,\"transformers_version\":\"x\""),
        MODEL("gpt_neo", ",\"attention_types\":[[[\"global\",1],2]]"),
        MODEL("phi3", ",\"max_position_embeddings\":512,\"original_max_position_embeddings\":64,"
                      "\"rope_scaling\":{\"type\":\"yarn\",\"short_factor\":[1,1,1,1,1,1,1,1],"
                      "\"long_factor\":[1,1,1,1,1,1,1,1]}"),
        MODEL("gemma3_text", ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1000000,"
                             "\"rope_type\":\"yarn\",\"factor\":2},\"sliding_attention\":{"
                             "\"rope_theta\":10000}}"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct qr_model_config c = good(texts[i]);
        qr_model_config_free(&c);
    }
}

static void test_refused(void **state)
{
    (void)state;
    bad(MODEL("roberta", ",\"pad_token_id\":1,\"max_position_embeddings\":1"), QUIRE_E_FORMAT,
        "pad_token_id 1 leaves no position of 1");
    bad(MODEL("qwen3_moe", ",\"num_hidden_layers\":1,\"num_experts\":8,\"moe_every_n_layers\":2,"
                           "\"num_experts_per_tok\":2"),
        QUIRE_E_FORMAT, "moe_every_n_layers is 2, so that no layer has the 8 experts");
    bad(MODEL("bamba", ",\"hybrid_override_pattern\":\"M-M*\""), QUIRE_E_UNSUPPORTED,
        "layer 1 has no mixer");
    bad(MODEL("bamba", ",\"hybrid_override_pattern\":\"ME**\""), QUIRE_E_UNSUPPORTED,
        "layer 1 has no mixer");
    bad(MODEL("llama", ",\"warp_factor\":1.7976931348623159e308"), QUIRE_E_UNSUPPORTED,
        "warp_factor");
    bad("{\"model_type\":\"see\",\"text_config\":{\"model_type\":1}}", QUIRE_E_FORMAT,
        "model_type must be a string");
    bad("{\"model_type\":\"see\",\"text_config\":{}}", QUIRE_E_UNSUPPORTED,
        "model_type see is not supported");
    bad("{\"model_type\":\"see\",\"bos_token_id\":\"x\",\"text_config\":" MODEL("llama", "") "}",
        QUIRE_E_FORMAT, "bos_token_id");
}

static void test_names(void **state)
{
    (void)state;
    assert_true(qr_name_matches("", "") && !qr_name_matches("", "x"));
    assert_true(qr_name_matches("*x", "ax") && !qr_name_matches("*ax", "x"));
    assert_true(qr_name_matches("a*", "ax") && !qr_name_matches("a*", "b"));
    char text[] = "Infinity", list[] = "[-Infinity,\"Infinity\",\"\\\"Infinity\"]";
    assert_int_equal(qr_hf_replace_infinities(text, sizeof text - 1), 1);
    assert_string_equal(text, "null    ");
    assert_int_equal(qr_hf_replace_infinities(list, sizeof list - 1), 1);
    assert_string_equal(list, "[null     ,\"Infinity\",\"\\\"Infinity\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_cross_attention),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_shared_keys),
        cmocka_unit_test(test_shared_blocks),
        cmocka_unit_test(test_selected_keys),
        cmocka_unit_test(test_keys_as_values),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
