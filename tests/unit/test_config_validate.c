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
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
