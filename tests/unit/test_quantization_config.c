/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantization_config.c - quantization_config of config.json: options with unusual values, and
 * options that are not known. */
#include "model/config/config.h"
#include "model/config/hf.h"
#include "model/config/hf_quantization.h"
#include "model/config/unknown.h"
#include "quire_cmocka.h"

#define FP8            "\"quant_method\":\"fp8\""
#define GPTQ           "\"quant_method\":\"gptq\",\"bits\":4"
#define AWQ            "\"quant_method\":\"awq\""
#define BITS           "\"quant_method\":\"bitsandbytes\""
#define PACKED         "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\""
#define GROUP(members) PACKED ",\"config_groups\":{\"group_0\":{" members "}}"
#define WEIGHTS(more)  GROUP("\"weights\":{\"num_bits\":8" more "}")

static quire_status configure(const char *members, const struct qr_unknown_policy *policy,
                              struct qr_model_config *cfg, struct quire_error *err)
{
    char json[800];
    snprintf(json, sizeof json,
             "{\"model_type\":\"llama\",\"vocab_size\":320,\"hidden_size\":64,"
             "\"intermediate_size\":160,\"num_hidden_layers\":4,\"num_attention_heads\":4,"
             "\"quantization_config\":{%s}}",
             members);
    return qr_model_config_from_hf(json, strlen(json), NULL, 0, policy, NULL, cfg, err);
}

static void accepted(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        enum qr_quantization_method method;
        uint32_t bits, group, block_rows, block_columns;
    } cases[] = {
        { FP8 ",\"fmt\":null,\"activation_scheme\":\"Dynamic\"", QR_QUANTIZATION_FP8, 0, 0, 0, 0 },
        { FP8 ",\"modules_to_not_convert\":null,\"quant_type\":\"x\"", QR_QUANTIZATION_FP8, 0, 0, 0,
          0 },
        { FP8 ",\"weight_block_size\":null", QR_QUANTIZATION_FP8, 0, 0, 0, 0 },
        { FP8 ",\"rotation\":null,\"smoothing\":false", QR_QUANTIZATION_FP8, 0, 0, 0, 0 },
        { FP8 ",\"rotation\":{},\"smoothing\":[]", QR_QUANTIZATION_FP8, 0, 0, 0, 0 },
        { "\"quant_method\":\"gptq\",\"bits\":8", QR_QUANTIZATION_GPTQ, 8, 128, 0, 0 },
        { GPTQ ",\"group_size\":null", QR_QUANTIZATION_GPTQ, 4, 128, 0, 0 },
        { GPTQ ",\"format\":\"gptq_v2\",\"pack_dtype\":null", QR_QUANTIZATION_GPTQ, 4, 128, 0, 0 },
        { AWQ ",\"w_bit\":4,\"group_size\":64", QR_QUANTIZATION_AWQ, 4, 64, 0, 0 },
        { BITS ",\"_load_in_8bit\":true", QR_QUANTIZATION_LLM_INT8, 0, 0, 0, 0 },
        { BITS ",\"_load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\"", QR_QUANTIZATION_NF4, 0, 0,
          0, 0 },
        { GROUP("\"weights\":null"), QR_QUANTIZATION_COMPRESSED, 0, 0, 0, 0 },
        { GROUP("\"format\":\"int-quantized\""), QR_QUANTIZATION_COMPRESSED, 0, 0, 0, 0 },
        { WEIGHTS(",\"actorder\":true,\"strategy\":null"), QR_QUANTIZATION_COMPRESSED, 0, 0, 0, 0 },
        { WEIGHTS(",\"actorder\":\"group\",\"block_structure\":[64,32]"),
          QR_QUANTIZATION_COMPRESSED, 0, 0, 64, 32 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = configure(cases[i].members, NULL, &c, &err);
        if (s != QUIRE_OK)
            fail_msg("%s: %s", cases[i].members, err.msg);
        const struct qr_quantization_config *q = &c.quantization;
        if (q->method != cases[i].method || q->bits != cases[i].bits ||
            q->group != cases[i].group || q->block_rows != cases[i].block_rows ||
            q->block_columns != cases[i].block_columns || q->n_plain != 0)
            fail_msg("%s: method %d, %u bits, groups of %u, blocks of %u x %u", cases[i].members,
                     (int)q->method, q->bits, q->group, q->block_rows, q->block_columns);
        qr_model_config_free(&c);
    }
}

static const struct {
    const char *members;
    quire_status status;
    const char *text;
} bad_cases[] = {
    { FP8 ",\"fmt\":7", QUIRE_E_FORMAT, "fmt has the wrong type" },
    { FP8 ",\"activation_scheme\":\"x\"", QUIRE_E_UNSUPPORTED, "activation_scheme is \"x\"" },
    { FP8 ",\"weight_block_size\":7", QUIRE_E_FORMAT, "weight_block_size has the wrong type" },
    { FP8 ",\"weight_block_size\":[\"a\",128]", QUIRE_E_FORMAT, "weight_block_size has the wrong" },
    { FP8 ",\"weight_block_size\":[128,\"a\"]", QUIRE_E_FORMAT, "weight_block_size has the wrong" },
    { FP8 ",\"weight_block_size\":[128,0]", QUIRE_E_UNSUPPORTED, "weight_block_size is [128, 0]" },
    { FP8 ",\"rotation\":true", QUIRE_E_UNSUPPORTED, "rotation is not known" },
    { FP8 ",\"rotation\":3", QUIRE_E_UNSUPPORTED, "rotation is not known" },
    { FP8 ",\"rotation\":[1]", QUIRE_E_UNSUPPORTED, "rotation is not known" },
    { FP8 ",\"rotation\":{\"a\":1}", QUIRE_E_UNSUPPORTED, "rotation is not known" },
    { GPTQ ",\"group_size\":4294967296", QUIRE_E_UNSUPPORTED, "group_size is 4294967296" },
    { GPTQ ",\"group_size\":-32", QUIRE_E_UNSUPPORTED, "group_size is -32" },
    { GPTQ ",\"format\":\"marlin\"", QUIRE_E_UNSUPPORTED, "format is \"marlin\"" },
    { GPTQ ",\"is_marlin_format\":7", QUIRE_E_FORMAT, "is_marlin_format must be true or false" },
    { GPTQ ",\"dynamic\":[1]", QUIRE_E_FORMAT, "dynamic has the wrong type" },
    { AWQ ",\"bits\":\"x\"", QUIRE_E_FORMAT, "bits must be an integer" },
    { AWQ ",\"w_bit\":3", QUIRE_E_UNSUPPORTED, "w_bit is \"3\"" },
    { AWQ ",\"bits\":4,\"group_size\":48", QUIRE_E_UNSUPPORTED, "group_size is 48" },
    { BITS ",\"load_in_4bit\":7", QUIRE_E_FORMAT, ": load_in_4bit must be true or false" },
    { BITS ",\"_load_in_4bit\":7", QUIRE_E_FORMAT, "_load_in_4bit must be true or false" },
    { BITS ",\"load_in_8bit\":7", QUIRE_E_FORMAT, ": load_in_8bit must be true or false" },
    { BITS ",\"_load_in_8bit\":7", QUIRE_E_FORMAT, "_load_in_8bit must be true or false" },
    { BITS ",\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"fp4\"", QUIRE_E_UNSUPPORTED,
      "bnb_4bit_quant_type is \"fp4\"" },
    { GROUP("\"format\":\"x\""), QUIRE_E_UNSUPPORTED, "format is \"x\"" },
    { GROUP("\"weights\":[]"), QUIRE_E_FORMAT, "weights has the wrong type" },
    { PACKED ",\"quantization_status\":\"initialized\"", QUIRE_E_UNSUPPORTED,
      "quantization_status is \"initialized\"" },
    { WEIGHTS(",\"strategy\":7"), QUIRE_E_UNSUPPORTED, "strategy is \"7\"" },
    { WEIGHTS(",\"type\":\"x\""), QUIRE_E_UNSUPPORTED, "type is \"x\"" },
    { WEIGHTS(",\"type\":true"), QUIRE_E_UNSUPPORTED, "type is \"true\"" },
    { WEIGHTS(",\"type\":false"), QUIRE_E_UNSUPPORTED, "type is \"false\"" },
    { WEIGHTS(",\"type\":1.5"), QUIRE_E_UNSUPPORTED, "type is \"?\"" },
    { WEIGHTS(",\"actorder\":\"x\""), QUIRE_E_UNSUPPORTED, "actorder is \"x\"" },
    { WEIGHTS(",\"block_structure\":[64]"), QUIRE_E_FORMAT, "block_structure has the wrong type" },
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = configure(bad_cases[i].members, NULL, &c, &err);
        if (s != bad_cases[i].status || !strstr(err.msg, bad_cases[i].text))
            fail_msg("%s: %s \"%s\"", bad_cases[i].members, quire_status_name(s), err.msg);
        qr_model_config_free(&c);
    }
}

/* The host may allow options that are not known. */
static void allowed(void **state)
{
    (void)state;
    static const struct qr_unknown_policy allow = { .allow = true };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK,
                  configure(FP8 ",\"rotation\":true,\"ignore\":[\"a\",\"b\"]", &allow, &c, &err));
    assert_int_equal(c.quantization.method, QR_QUANTIZATION_FP8);
    assert_int_equal(c.quantization.n_plain, 2);
    assert_string_equal(c.quantization.plain[1], "b");
    qr_model_config_free(&c);
}

/* hf_quant_config.json counts where config.json says nothing. */
static void own_file(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        quire_status status;
        const char *text; /* of the error */
        enum qr_quantization_method method;
    } cases[] = {
        { "{\"producer\":{\"name\":\"modelopt\"},\"quantization\":{\"quant_algo\":\"NVFP4\","
          "\"kv_cache_quant_algo\":\"FP8\",\"group_size\":16,\"exclude_modules\":[\"lm_head\"]}}",
          QUIRE_OK, NULL, QR_QUANTIZATION_MODELOPT },
        { "{\"quantization\":{\"quant_algo\":\"FP8\"}}", QUIRE_OK, NULL, QR_QUANTIZATION_MODELOPT },
        { "{\"quantization\":{\"quant_algo\":null,\"kv_cache_quant_algo\":\"FP8\"}}", QUIRE_OK,
          NULL, QR_QUANTIZATION_NONE },
        { "{\"quantization\":{\"kv_cache_quant_algo\":\"FP8\"}}", QUIRE_OK, NULL,
          QR_QUANTIZATION_NONE },
        { "[1]", QUIRE_E_FORMAT, "hf_quant_config.json", QR_QUANTIZATION_NONE },
        { "{\"quantization\":7}", QUIRE_E_FORMAT,
          "hf_quant_config.json: quantization is missing or no object", QR_QUANTIZATION_NONE },
        { "{}", QUIRE_E_FORMAT, "quantization is missing", QR_QUANTIZATION_NONE },
        { "{\"quantization\":{\"quant_algo\":\"INT4_AWQ\"}}", QUIRE_E_UNSUPPORTED,
          "hf_quant_config.json: quantization: quant_algo is \"INT4_AWQ\"", QR_QUANTIZATION_NONE },
        { "{\"quantization\":{\"quant_algo\":\"FP8\",\"exclude_modules\":7}}", QUIRE_E_FORMAT,
          "exclude_modules has the wrong type", QR_QUANTIZATION_NONE },
        { "{\"quantization\":{\"quant_algo\":\"FP8\",\"rotate\":1}}", QUIRE_E_UNSUPPORTED,
          "hf_quant_config.json: quantization: rotate is not known", QR_QUANTIZATION_NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int described = 0; described < 2; described++) {
            struct qr_model_config c;
            struct quire_error err = QUIRE_ERROR_INIT;
            assert_status(QUIRE_OK, configure(described ? FP8 : AWQ ",\"bits\":4", NULL, &c, &err));
            if (!described)
                c.quantization = (struct qr_quantization_config){ 0 };
            const quire_status s =
                qr_model_config_read_modelopt(&c, cases[i].json, strlen(cases[i].json), NULL, &err);
            if (described) {
                assert_status(QUIRE_OK, s);
                assert_int_equal(c.quantization.method, QR_QUANTIZATION_FP8);
            } else if (s != cases[i].status || (s && !strstr(err.msg, cases[i].text)) ||
                       (!s && c.quantization.method != cases[i].method)) {
                fail_msg("%s: %s \"%s\"", cases[i].json, quire_status_name(s), err.msg);
            }
            qr_model_config_free(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),
        cmocka_unit_test(refused),
        cmocka_unit_test(allowed),
        cmocka_unit_test(own_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
