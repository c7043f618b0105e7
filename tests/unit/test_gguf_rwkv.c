/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_rwkv.c - heads, ranks and options of RWKV in GGUF files, and their contradictions. */
#include "model/arch/arch.h"
#include "test_gguf_model.h"

/* Heads and ranks of RWKV-6, and the factors of output matrices. */
static void test_wkv6(void **state)
{
    (void)state;
    struct entry keys[] = {
        { "rwkv6.wkv.head_size", QR_GGUF_U32, 16, NULL },
        { "rwkv6.time_mix_extra_dim", QR_GGUF_U32, 8, NULL },
        { "rwkv6.time_decay_extra_dim", QR_GGUF_U32, 9, NULL },
        { "rwkv6.rescale_every_n_layers", QR_GGUF_U32, 2, NULL },
        { "rwkv6.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
    };
    struct qr_model_config c = good("rwkv6", keys, 5);
    const struct qr_recurrent_config *r = &c.recurrent;
    assert_true(r->n_heads == 4 && r->key_dim == 16 && r->value_dim == 16 && r->norm_dim == 16);
    assert_true(r->mix_rank == 8 && r->dt_rank == 9 && r->norm_eps == 64e-5f);
    assert_true(c.layers[3].mixer == QR_MIXER_RECURRENT);
    assert_true(qr_recurrent_rescale(r, 1) == 1 && qr_recurrent_rescale(r, 3) == 2);
    qr_model_config_free(&c);
    for (size_t i = 0; i < 4; i++) {
        static const char *const texts[] = { "not a multiple of wkv.head_size 24",
                                             "rank of mixes is 0", "dt rank is 0", NULL };
        struct quire_error err = QUIRE_ERROR_INIT;
        const double kept = keys[i].value;
        keys[i].value = i == 0 ? 24 : 0;
        if (texts[i]) {
            assert_status(QUIRE_E_FORMAT, make("rwkv6", keys, 5, &c, &err));
            assert_non_null(strstr(err.msg, texts[i]));
        } else {
            c = good("rwkv6", keys, 5);
            assert_true(qr_recurrent_rescale(r, 3) == 1);
            qr_model_config_free(&c);
        }
        keys[i].value = kept;
        keys[i].type = QR_GGUF_STRING;
        keys[i].text = "8";
        assert_status(QUIRE_E_FORMAT, make("rwkv6", keys, 5, &c, &err));
        assert_non_null(strstr(err.msg, keys[i].key));
        keys[i].type = QR_GGUF_U32;
        keys[i].text = NULL;
    }
    bad("rwkv6", keys[4], QUIRE_E_FORMAT, "wkv.head_size");
}

/* The file's output matrices would be divided by more than 2^31. */
static void test_wkv6_halvings(void **state)
{
    (void)state;
    struct entry keys[] = {
        { "rwkv6.wkv.head_size", QR_GGUF_U32, 16, NULL },
        { "rwkv6.time_mix_extra_dim", QR_GGUF_U32, 8, NULL },
        { "rwkv6.time_decay_extra_dim", QR_GGUF_U32, 9, NULL },
        { "rwkv6.rescale_every_n_layers", QR_GGUF_U32, 1, NULL },
        { "rwkv6.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "rwkv6.block_count", QR_GGUF_U32, 32, NULL },
    };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_model_config c = good("rwkv6", keys, 6);
    assert_true(qr_recurrent_rescale(&c.recurrent, 31) == 0x1p31f);
    qr_model_config_free(&c);
    keys[5].value = 33;
    assert_status(QUIRE_E_FORMAT, make("rwkv6", keys, 6, &c, &err));
    assert_non_null(strstr(err.msg, "rescale_every_n_layers is 1"));
}

/* Heads of keys and values in gated linear attention. */
static void test_rwkv_qwen2(void **state)
{
    (void)state;
    struct entry keys[] = {
        { "rwkv6qwen2.wkv.head_size", QR_GGUF_U32, 16, NULL },
        { "rwkv6qwen2.time_mix_extra_dim", QR_GGUF_U32, 8, NULL },
        { "rwkv6qwen2.time_decay_extra_dim", QR_GGUF_U32, 9, NULL },
        { "rwkv6qwen2.token_shift_count", QR_GGUF_U32, 1, NULL },
        { "rwkv6qwen2.attention.head_count", QR_GGUF_U32, 0, NULL },
        { "rwkv6qwen2.attention.head_count_kv", QR_GGUF_U32, 2, NULL },
        { "rwkv6qwen2.rescale_every_n_layers", QR_GGUF_U32, 0, NULL },
    };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_model_config c = good("rwkv6qwen2", keys, 7);
    const struct qr_recurrent_config *r = &c.recurrent;
    assert_true(r->n_heads == 4 && r->n_kv_heads == 2 && r->gated_linear && !r->qkv_bias);
    assert_true(c.activation == QR_ACT_SILU && c.ffn_gated && qr_recurrent_shifted_inputs(r) == 5);
    assert_false(qr_recurrent_shifts_ffn(r));
    qr_model_config_free(&c);
    static const struct {
        size_t key;
        uint32_t type;
        double value;
        const char *text, *said;
        quire_status status;
    } wrong[] = {
        { 3, QR_GGUF_U32, 2, NULL, "token_shift_count is 2, not 1", QUIRE_E_UNSUPPORTED },
        { 3, QR_GGUF_STRING, 0, "1", "token_shift_count", QUIRE_E_FORMAT },
        { 5, QR_GGUF_U32, 3, NULL, "4 heads of wkv.head_size", QUIRE_E_FORMAT },
        { 5, QR_GGUF_ARRAY, 0, "2212", "head_count_kv is 1 in layer 2", QUIRE_E_UNSUPPORTED },
        { 6, QR_GGUF_U32, 6, NULL, "rescale_every_n_layers", QUIRE_E_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct entry kept = keys[wrong[i].key];
        keys[wrong[i].key] =
            (struct entry){ kept.key, wrong[i].type, wrong[i].value, wrong[i].text };
        assert_status(wrong[i].status, make("rwkv6qwen2", keys, 7, &c, &err));
        assert_non_null(strstr(err.msg, wrong[i].said));
        keys[wrong[i].key] = kept;
    }
}

/* The gate and the norms of heads are options. */
static void test_arwkv7(void **state)
{
    (void)state;
    static const struct entry arwkv[] = {
        { "arwkv7.wkv.head_size", QR_GGUF_U32, 16, NULL },
        { "arwkv7.attention.decay_lora_rank", QR_GGUF_U32, 8, NULL },
        { "arwkv7.attention.iclr_lora_rank", QR_GGUF_U32, 9, NULL },
        { "arwkv7.attention.value_residual_mix_lora_rank", QR_GGUF_U32, 10, NULL },
        { "arwkv7.attention.gate_lora_rank", QR_GGUF_U32, 11, NULL },
    };
    struct qr_model_config c =
        good("arwkv7", arwkv, 4); /* without a gate; the file has no norms, either */
    const struct qr_recurrent_config *r = &c.recurrent;
    assert_true(r->output == QR_RECURRENT_OUT_PLAIN && r->no_norm && r->norm_eps == 64e-5f);
    assert_true(qr_recurrent_shifted_inputs(r) == 5 && !qr_recurrent_shifts_ffn(r));
    qr_model_config_free(&c);
    c = good("arwkv7", arwkv, 5);
    assert_true(r->output == QR_RECURRENT_OUT_GATED && r->gate_rank == 11);
    assert_true(qr_recurrent_shifted_inputs(r) == 6);
    qr_model_config_free(&c);
}

/* Heads and ranks of RWKV-7. */
static void test_wkv7(void **state)
{
    (void)state;
    struct entry keys[] = {
        { "rwkv7.wkv.head_size", QR_GGUF_U32, 16, NULL },
        { "rwkv7.attention.decay_lora_rank", QR_GGUF_U32, 8, NULL },
        { "rwkv7.attention.iclr_lora_rank", QR_GGUF_U32, 9, NULL },
        { "rwkv7.attention.value_residual_mix_lora_rank", QR_GGUF_U32, 10, NULL },
        { "rwkv7.attention.gate_lora_rank", QR_GGUF_U32, 11, NULL },
        { "rwkv7.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
    };
    struct qr_model_config c = good("rwkv7", keys, 6);
    const struct qr_recurrent_config *r = &c.recurrent;
    assert_true(r->n_heads == 4 && r->key_dim == 16 && r->value_dim == 16 && r->norm_dim == 16);
    assert_true(r->dt_rank == 8 && r->rate_rank == 9 && r->value_rank == 10 && r->gate_rank == 11);
    assert_true(r->norm_eps == 16 * 1e-5f && c.layers[3].mixer == QR_MIXER_RECURRENT);
    qr_model_config_free(&c);
    for (size_t i = 0; i < 5; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const double kept = keys[i].value;
        keys[i].value = i == 0 ? 24 : 0;
        assert_status(QUIRE_E_FORMAT, make("rwkv7", keys, 6, &c, &err));
        assert_non_null(
            strstr(err.msg, i == 0 ? "not a multiple of wkv.head_size 24" : "rank is 0"));
        keys[i].value = kept;
        keys[i].type = QR_GGUF_STRING;
        keys[i].text = "8";
        assert_status(QUIRE_E_FORMAT, make("rwkv7", keys, 6, &c, &err));
        assert_non_null(strstr(err.msg, keys[i].key));
        keys[i].type = QR_GGUF_U32;
        keys[i].text = NULL;
    }
    bad("rwkv7", keys[5], QUIRE_E_FORMAT, "wkv.head_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wkv6),       cmocka_unit_test(test_wkv6_halvings),
        cmocka_unit_test(test_rwkv_qwen2), cmocka_unit_test(test_arwkv7),
        cmocka_unit_test(test_wkv7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
