/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf_disentangled.c - disentangled attention in config.json (DeBERTa). */
#include "model/arch/arch.h"
#include "test_config.h"
#include "test_hf.h"
#include <math.h>

#define V3                                                                                         \
    ",\"relative_attention\":true,\"share_att_key\":true,"                                         \
    "\"position_biased_input\":false"
#define DEBERTA(more) MODEL("deberta-v2", V3 more)

static void test_base(void **state)
{
    (void)state;
    struct qr_model_config c = good(DEBERTA(
        ",\"pos_att_type\":\"p2c|c2p\",\"position_buckets\":256,\"norm_rel_ebd\":\"layer_norm\","
        "\"max_relative_positions\":-1"));
    const struct qr_disentangled_config *d = &c.disentangled;
    assert_true(c.kind == QR_MODEL_ENCODER && !c.learned_positions && c.embedding_norm);
    assert_true(d->span == 256 && d->buckets && d->max_distance == 512 && d->norm);
    assert_true(d->query_position && d->key_position);
    assert_true(fabsf(c.attention_scale - 1 / sqrtf(16 * 3)) < 1e-7f);
    qr_model_config_free(&c);
}

static void test_terms(void **state)
{
    (void)state;
    struct qr_model_config c = good(DEBERTA(",\"pos_att_type\":[\"c2p\"]"));
    assert_true(c.disentangled.query_position && !c.disentangled.key_position);
    assert_true(!c.disentangled.buckets && c.disentangled.span == 512 && !c.disentangled.norm);
    qr_model_config_free(&c);
    c = good(DEBERTA(",\"pos_att_type\":null,\"max_relative_positions\":16"));
    assert_true(!c.disentangled.query_position && !c.disentangled.key_position);
    assert_true(c.disentangled.span == 16 && c.attention_scale == 0.25f);
    qr_model_config_free(&c);
    bad(DEBERTA(",\"pos_att_type\":\"c2p|p2p\""), QUIRE_E_UNSUPPORTED, "pos_att_type p2p");
    bad(DEBERTA(",\"pos_att_type\":\"c2p,p2c\""), QUIRE_E_UNSUPPORTED, "pos_att_type c2p,p2c");
    bad(DEBERTA(",\"pos_att_type\":[\"\"]"), QUIRE_E_UNSUPPORTED, "pos_att_type ");
    bad(DEBERTA(",\"pos_att_type\":[1]"), QUIRE_E_FORMAT, "list of texts");
    bad(DEBERTA(",\"pos_att_type\":{\"c2p\":1}"), QUIRE_E_FORMAT, "a list or a text");
}

static void test_refused(void **state)
{
    (void)state;
    bad(MODEL("deberta-v2", ""), QUIRE_E_UNSUPPORTED, "relative_attention is false");
    bad(MODEL("deberta-v2", ",\"relative_attention\":1"), QUIRE_E_FORMAT, "relative_attention");
    bad(MODEL("deberta-v2", ",\"relative_attention\":true"), QUIRE_E_UNSUPPORTED,
        "position_biased_input is true");
    bad(MODEL("deberta-v2", ",\"relative_attention\":true,\"position_biased_input\":false"),
        QUIRE_E_UNSUPPORTED, "share_att_key is false");
    bad(DEBERTA(",\"position_buckets\":513"), QUIRE_E_UNSUPPORTED, "513 position_buckets");
    bad(DEBERTA(",\"position_buckets\":3"), QUIRE_E_UNSUPPORTED, "3 position_buckets");
    bad(DEBERTA(",\"position_buckets\":256,\"max_relative_positions\":129"), QUIRE_E_UNSUPPORTED,
        "256 position_buckets for 129 distances");
    bad(DEBERTA(",\"max_relative_positions\":513"), QUIRE_E_UNSUPPORTED, "513 distances");
    bad(DEBERTA(",\"max_relative_positions\":1.5"), QUIRE_E_FORMAT,
        "max_relative_positions is 1.5");
    bad(DEBERTA(",\"max_relative_positions\":1e300"), QUIRE_E_FORMAT, "max_relative_positions");
    bad(DEBERTA(",\"max_relative_positions\":\"x\""), QUIRE_E_FORMAT, "max_relative_positions");
    bad(DEBERTA(",\"position_buckets\":[]"), QUIRE_E_FORMAT, "position_buckets");
    bad(DEBERTA(",\"norm_rel_ebd\":\"batch_norm\""), QUIRE_E_UNSUPPORTED,
        "norm_rel_ebd batch_norm");
    bad(DEBERTA(",\"norm_rel_ebd\":1"), QUIRE_E_FORMAT, "norm_rel_ebd");
    bad(DEBERTA(",\"num_key_value_heads\":2"), QUIRE_E_UNSUPPORTED, "num_key_value_heads is 2");
    bad(DEBERTA(",\"max_position_embeddings\":1048577"), QUIRE_E_UNSUPPORTED,
        "max_position_embeddings is 1048577");
    bad(DEBERTA(",\"conv_kernel_size\":3"), QUIRE_E_UNSUPPORTED, "conv_kernel_size = 3");
    bad(DEBERTA(",\"embedding_size\":32"), QUIRE_E_UNSUPPORTED, "embedding_size = 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
