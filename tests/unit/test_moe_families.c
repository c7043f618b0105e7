/* SPDX-License-Identifier: Apache-2.0 */
/* test_moe_families.c - config.json: mixtures of experts with options of their own. */
#include "test_config.h"
#include "test_hf.h"

#define GROVE(more) MODEL("grove_moe", ",\"num_experts\":8,\"num_experts_per_tok\":3" more)

static void test_adjugate(void **state)
{
    (void)state;
    struct qr_model_config c = good(GROVE(",\"mlp_only_layers\":[1]"));
    assert_true(c.moe.adjugate_group == 2 && c.moe.adjugate_ffn_size == 128 &&
                c.moe.adjugate_scale == 0.05f && c.moe.renormalize && c.moe.ffn_size == 768);
    assert_true(c.layers[0].moe && !c.layers[1].moe && c.qk_norm == QR_QK_NORM_HEAD);
    qr_model_config_free(&c);
    bad(GROVE(",\"num_experts\":9"), QUIRE_E_FORMAT,
        "9 experts, of which each 2 share an adjugate expert");
    bad(GROVE(",\"norm_topk_prob\":false"), QUIRE_E_UNSUPPORTED, "norm_topk_prob");
    bad(GROVE(",\"expert_group_scale\":0.1"), QUIRE_E_UNSUPPORTED, "expert_group_scale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adjugate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
