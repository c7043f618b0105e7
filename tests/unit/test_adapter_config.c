/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter_config.c - adapter_config.json of PEFT: values of a wrong type, options that are on
 * and off, patterns of module names. */
#include "model/load/adapter_peft_config.h"
#include "quire_cmocka.h"
#include <math.h>

#define BASE "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":8"

static quire_status parse(const char *text, const struct qr_unknown_policy *policy,
                          struct qr_peft_config *c, struct quire_error *err)
{
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    const quire_status s = qr_peft_config_parse(text, strlen(text), policy, &f.hooks, c, err);
    qr_peft_config_free(c);
    assert_int_equal(f.live_count, 0);
    return s == QUIRE_OK ? qr_peft_config_parse(text, strlen(text), policy, NULL, c, err) : s;
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        quire_status status;
        const char *message;
    } cases[] = {
        { "{}", QUIRE_E_UNSUPPORTED, "peft_type is \"\", not \"LORA\"" },
        { "{\"peft_type\":\"IA3\"}", QUIRE_E_UNSUPPORTED, "peft_type is \"IA3\"" },
        { "{\"peft_type\":1}", QUIRE_E_FORMAT, "peft_type" },
        { "{\"peft_type\":\"LORA\",\"r\":{}}", QUIRE_E_FORMAT, "r must be" },
        { "{\"peft_type\":\"LORA\"}", QUIRE_E_FORMAT, "r is 0" },
        { "{\"peft_type\":\"LORA\",\"r\":4}", QUIRE_E_FORMAT, "lora_alpha is missing" },
        { "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":\"x\"}", QUIRE_E_FORMAT, "lora_alpha" },
        { BASE ",\"bias\":1}", QUIRE_E_FORMAT, "bias" },
        { BASE ",\"bias\":\"all\"}", QUIRE_E_UNSUPPORTED, "bias is \"all\"" },
        { BASE ",\"base_model_name_or_path\":1}", QUIRE_E_FORMAT, "base_model_name_or_path" },
        { BASE ",\"use_rslora\":2}", QUIRE_E_FORMAT, "use_rslora" },
        { BASE ",\"use_dora\":1}", QUIRE_E_UNSUPPORTED, "use_dora: DoRA" },
        { BASE ",\"arrow_config\":{\"a\":1}}", QUIRE_E_UNSUPPORTED, "arrow_config" },
        { BASE ",\"lora_bias\":\"x\"}", QUIRE_E_UNSUPPORTED, "lora_bias" },
        { BASE ",\"warp\":0.5}", QUIRE_E_UNSUPPORTED, "the key warp is not known" },
        { BASE ",\"rank_pattern\":[]}", QUIRE_E_FORMAT, "rank_pattern is no object" },
        { BASE ",\"rank_pattern\":{\"a\":\"x\"}}", QUIRE_E_FORMAT, "the value of a" },
        { BASE ",\"rank_pattern\":{\"a\":0.5}}", QUIRE_E_FORMAT, "the value of a" },
        { BASE ",\"rank_pattern\":{\"a\":1e9}}", QUIRE_E_FORMAT, "the value of a" },
        { BASE ",\"rank_pattern\":{\"a.*\":1}}", QUIRE_E_UNSUPPORTED, "expression a.*" },
        { BASE ",\"rank_pattern\":{\"a\\\\d\":1}}", QUIRE_E_UNSUPPORTED, "expression a\\d" },
        { BASE ",\"alpha_pattern\":1}", QUIRE_E_FORMAT, "alpha_pattern is no object" },
        { BASE ",\"alpha_pattern\":{\"a\":1e31}}", QUIRE_E_FORMAT, "the value of a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_peft_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = parse(cases[i].text, NULL, &c, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].message) ||
            !strstr(err.msg, "adapter_config.json"))
            fail_msg("%s: got %s \"%s\"", cases[i].text, quire_status_name(s), err.msg);
    }
}

static void accepted(void **state)
{
    (void)state;
    static const char text[] =
        BASE ",\"bias\":\"none\",\"use_dora\":false,\"lora_bias\":0,\"arrow_config\":{},"
             "\"modules_to_save\":[],\"layer_replication\":null,\"warp\":0.0,\"use_rslora\":true,"
             "\"target_modules\":[\"q_proj\"],\"target_parameters\":[],"
             "\"rank_pattern\":{\"^layers\\\\.1\\\\.q_proj\":2,\"k_proj\":3},"
             "\"alpha_pattern\":null}";
    struct qr_peft_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, parse(text, NULL, &c, &err));
    assert_string_equal(c.base_model, "");
    assert_false(c.target_parameters);
    assert_int_equal(qr_peft_rank(&c, "layers.1.q_proj"), 2);
    assert_int_equal(qr_peft_rank(&c, "x.layers.1.q_proj"), 4); /* '^': the whole name */
    assert_int_equal(qr_peft_rank(&c, "layers_1.q_proj"), 4);
    assert_int_equal(qr_peft_rank(&c, "layers.0.k_proj"), 3);
    assert_int_equal(qr_peft_rank(&c, "layers.0.mk_proj"), 4); /* not after a dot */
    assert_int_equal(qr_peft_rank(&c, "k_proj"), 3);
    assert_int_equal(qr_peft_rank(&c, "k"), 4);
    assert_true(qr_peft_scale(&c, "k_proj", 4) == 4);
    qr_peft_config_free(&c);
    static const struct qr_unknown_policy allow = { .allow = true };
    assert_status(QUIRE_OK, parse(BASE ",\"warp\":2}", &allow, &c, &err));
    assert_true(qr_peft_scale(&c, "k_proj", 4) == 2);
    qr_peft_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused), cmocka_unit_test(accepted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
