/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized_bad.c - tensors of quantized matrices that are missing or wrong, and options of
 * quantization_config. */
#include "model/config/config.h"
#include "model/config/hf.h"
#include "test_quantized_good.h"

static const struct qr_quantization_config gptq_v2_config = { .method = QR_QUANTIZATION_GPTQ,
                                                              .bits = 4,
                                                              .group = GROUP };

static const struct qr_quantization_config mixed_awq_config = {
    .method = QR_QUANTIZATION_AWQ, .bits = 4, .group = 128, .mixed = true
};

/* ---- Faults */

struct fault {
    const struct qr_quantization_config *config;
    void (*make)(void);
    const char *tensor; /* that has the fault */
    enum { MISSING, SHAPE, DTYPE, BYTES } kind;
    uint64_t a, b; /* shape; place and value of bytes */
    const char *dtype;
    quire_status status;
    const char *text;
};

static void apply(const struct fault *f)
{
    struct stored *t = stored_named(f->tensor);
    switch (f->kind) {
    case MISSING:
        t->name = "other";
        break;
    case SHAPE:
        reshape(f->tensor, f->a, f->b);
        break;
    case DTYPE:
        t->dtype = f->dtype; /* of the same size */
        break;
    case BYTES:
        memcpy((uint8_t *)t->data + f->a, &f->b, strlen(f->dtype));
        break;
    }
}

/* BYTES: the number of bytes is the length of `dtype`. */
#define MISS(config, make, tensor)                                                                 \
    {                                                                                              \
        &config, make, tensor, MISSING, 0, 0, NULL, QUIRE_E_FORMAT, "tensor " tensor " is missing" \
    }
#define WRONG_SHAPE(config, make, tensor, a, b, text)                                              \
    {                                                                                              \
        &config, make, tensor, SHAPE, a, b, NULL, QUIRE_E_FORMAT, text                             \
    }
#define WRONG_DTYPE(config, make, tensor, dtype, status, text)                                     \
    {                                                                                              \
        &config, make, tensor, DTYPE, 0, 0, dtype, status, text                                    \
    }
#define WRONG_BYTES(config, make, tensor, at, value, size, text)                                   \
    {                                                                                              \
        &config, make, tensor, BYTES, at, value, size, QUIRE_E_FORMAT, text                        \
    }

static const struct fault faults[] = {
    MISS(gptq_config, make_gptq, "m.scales"),
    MISS(gptq_config, make_gptq, "m.qzeros"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.scales", 2, ROWS / 2, "m.scales has 2 dimensions"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.qzeros", ROWS / 8, 3, "m.qzeros has 2 dimensions"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.qweight", 8, 12, "m.qweight is no matrix"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.qweight", 7, ROWS, "groups of 32 do not divide"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.g_idx", COLS - 1, 0, "m.g_idx is not a list of 64"),
    WRONG_DTYPE(gptq_config, make_gptq, "m.g_idx", "F32", QUIRE_E_FORMAT, "m.g_idx is not a list"),
    WRONG_DTYPE(gptq_config, make_gptq, "m.scales", "I16", QUIRE_E_UNSUPPORTED,
                "m.scales has type I16"),
    WRONG_DTYPE(gptq_config, make_gptq, "m.qzeros", "F32", QUIRE_E_UNSUPPORTED,
                "m.qzeros has type F32"),
    WRONG_BYTES(gptq_config, make_gptq, "m.g_idx", 8, 2, "4444", "entry 2 is 2, of 2 groups"),
    WRONG_BYTES(gptq_config, make_gptq, "m.g_idx", 8, UINT32_MAX, "4444", "entry 2 is -1"),
    WRONG_BYTES(gptq_config, make_gptq, "m.g_idx", 8, 1, "4444", "group 1 has more than 32"),
    WRONG_BYTES(gptq_config, make_gptq, "m.scales", 6, 0x7e00, "22", "row 3, group 0 is nan"),
    WRONG_BYTES(gptq_config, make_gptq, "m.scales", 6, 0x7c00, "22", "row 3, group 0 is inf"),
    WRONG_BYTES(gptq_config, make_gptq, "m.qzeros", 4, 0xf0, "1", "row 9, group 0 is 16, above 15"),
    MISS(mixed_config, make_gptq, "m.qzeros"),
    MISS(mixed_config, make_gptq, "m.scales"),
    WRONG_SHAPE(mixed_config, make_gptq, "m.qzeros", 2, 3, "not as many zero points of 4 or 8"),
    WRONG_SHAPE(mixed_config, make_gptq, "m.qzeros", 4, 0, "not as many zero points of 4 or 8"),
    WRONG_SHAPE(mixed_config, make_gptq, "m.qweight", 128, 0, "not as many zero points"),
    WRONG_SHAPE(mixed_config, make_gptq, "m.scales", 2 * ROWS, 0, "do not divide rows of 64"),
    WRONG_SHAPE(mixed_config, make_gptq, "m.scales", 3, ROWS, "groups of 21 do not divide"),
    { &mixed_config, make_gptq, "m.scales", SHAPE, 4, ROWS, NULL, QUIRE_E_UNSUPPORTED,
      "groups of 16 columns are not supported" },
    MISS(awq_config, make_awq, "m.scales"),
    MISS(awq_config, make_awq, "m.qzeros"),
    MISS(mixed_awq_config, make_awq, "m.scales"),
    MISS(mixed_awq_config, make_awq, "m.qzeros"),
    WRONG_SHAPE(awq_config, make_awq, "m.qzeros", 4, 1, "m.qzeros has 2 dimensions"),
    WRONG_SHAPE(awq_config, make_awq, "m.scales", ROWS, 2, "m.scales has 2 dimensions"),
    WRONG_SHAPE(awq_config, make_awq, "m.qweight", COLS * 2, 0, "m.qweight is no matrix"),
    WRONG_SHAPE(awq_config, make_awq, "m.qweight", COLS - 16, 2, "groups of 32 do not divide"),
    WRONG_BYTES(awq_config, make_awq, "m.scales", 2, 0xfe00, "22", "row 1, group 0"),
    { &fp8_config, make_fp8, "m.weight_scale_inv", MISSING, 0, 0, NULL, QUIRE_E_FORMAT,
      "tensor m.weight_scale is missing" },
    WRONG_SHAPE(fp8_config, make_fp8, "m.weight_scale_inv", 3, 2, "m.weight_scale_inv has 2"),
    WRONG_SHAPE(fp8_config, make_fp8, "m.weight_scale_inv", 5, 0, "5 scales for a matrix"),
    WRONG_SHAPE(fp8_config, make_fp8, "m.weight", ROWS *COLS, 0, "m.weight is no matrix"),
    WRONG_DTYPE(fp8_config, make_fp8, "m.weight_scale_inv", "I32", QUIRE_E_FORMAT,
                "m.weight_scale_inv is not F32"),
    WRONG_BYTES(fp8_config, make_fp8, "m.weight_scale_inv", 4, 0x7fc00000, "4444",
                "row 0, group 1 is nan"),
    WRONG_BYTES(fp8_config, make_fp8, "m.weight", 65, 0xff, "1", "row 1, column 1 is NaN"),
    MISS(compressed_config, make_packed, "m.weight_shape"),
    MISS(compressed_config, make_packed, "m.weight_scale"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_shape", 3, 0, "list of two integers"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_shape", 0, 0, "88888888", "not positive"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_shape", 8, 96, "1",
                "m.weight_packed has"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_shape", 8, 65, "1", "multiple of 32"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_scale", ROWS, 3, "do not divide"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_scale", ROWS, 0, "has one dimension"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_zero_point", 2, 3,
                "m.weight_zero_point has"),
    WRONG_DTYPE(compressed_config, make_packed, "m.weight_zero_point", "F32", QUIRE_E_FORMAT,
                "packed I32"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_scale", 2, 0x7f80, "22",
                "row 0, group 1 is inf"),
    MISS(compressed_config, make_int8, "m.weight_scale"),
    WRONG_SHAPE(compressed_config, make_int8, "m.weight_scale", ROWS - 1, 1, "m.weight_scale has"),
    WRONG_SHAPE(compressed_config, make_int8, "m.weight_zero_point", 3, 1, "as many values"),
    WRONG_SHAPE(compressed_config, make_int8, "m.weight", ROWS *COLS, 0, "m.weight is no matrix"),
    MISS(mxfp4_config, make_mxfp4, "m_scales"),
    WRONG_SHAPE(mxfp4_config, make_mxfp4, "m_scales", 2, ROWS, "one exponent per block"),
    WRONG_SHAPE(mxfp4_config, make_mxfp4, "m_blocks", 2, ROWS, "experts x rows"),
    WRONG_BYTES(mxfp4_config, make_mxfp4, "m_scales", 3, 255, "1", "block 3 is NaN"),
    MISS(modelopt_config, make_modelopt, "m.weight_scale"),
    MISS(modelopt_config, make_modelopt, "m.weight_scale_2"),
    WRONG_SHAPE(modelopt_config, make_modelopt, "m.weight_scale", ROWS, 3, "m.weight_scale has 2"),
    WRONG_SHAPE(modelopt_config, make_modelopt, "m.weight_scale_2", 2, 0, "is not one number"),
    WRONG_SHAPE(modelopt_config, make_modelopt, "m.weight", ROWS *COLS, 0, "m.weight is no matrix"),
    { &modelopt_config, make_modelopt, "m.weight", SHAPE, ROWS, 48, NULL, QUIRE_E_UNSUPPORTED,
      "rows of 96 values are not a multiple of 64" },
    WRONG_DTYPE(modelopt_config, make_modelopt, "m.weight_scale", "U8", QUIRE_E_UNSUPPORTED,
                "m.weight_scale has type U8"),
    WRONG_DTYPE(modelopt_config, make_modelopt, "m.weight_scale_2", "I32", QUIRE_E_UNSUPPORTED,
                "m.weight_scale_2 has type I32"),
    WRONG_BYTES(modelopt_config, make_modelopt, "m.weight_scale", 6, 0x7f, "1",
                "m.weight_scale: the scale of row 1, group 2 is NaN"),
    WRONG_BYTES(modelopt_config, make_modelopt, "m.weight_scale", 6, 0xff, "1", "group 2 is NaN"),
    WRONG_BYTES(modelopt_config, make_modelopt, "m.weight_scale", 6, 0x80, "1", "2 is negative"),
    WRONG_BYTES(modelopt_config, make_modelopt, "m.weight_scale_2", 0, 0x7fc00000, "4444",
                "m.weight_scale_2 is not a finite positive number"),
    WRONG_BYTES(modelopt_config, make_modelopt, "m.weight_scale_2", 0, 0xbf800000, "4444",
                "not a finite positive number"),
    MISS(compressed_config, make_packed_nvfp4, "m.weight_global_scale"),
    MISS(compressed_config, make_packed_nvfp4, "m.weight_scale"),
    WRONG_SHAPE(compressed_config, make_packed_nvfp4, "m.weight_scale", ROWS, 3,
                "m.weight_scale has 2 dimensions"),
    WRONG_BYTES(compressed_config, make_packed_nvfp4, "m.weight_global_scale", 0, 0, "4444",
                "m.weight_global_scale is not a finite positive number"),
    WRONG_BYTES(compressed_config, make_packed_nvfp4, "m.weight_global_scale", 0, 0x7f800000,
                "4444", "not a finite positive number"),
    WRONG_BYTES(compressed_config, make_packed_nvfp4, "m.weight_global_scale", 0, 1, "4444",
                "m.weight_global_scale is too small"),
    MISS(compressed_config, make_packed_mxfp4, "m.weight_scale"),
    WRONG_SHAPE(compressed_config, make_packed_mxfp4, "m.weight_scale", ROWS, 1,
                "m.weight_scale has 2 dimensions"),
    WRONG_BYTES(compressed_config, make_packed_mxfp4, "m.weight_scale", 3, 255, "1",
                "block 3 is NaN"),
    MISS(nf4_config, make_nf4, "m.weight"),
    MISS(nf4_config, make_nf4, "m.weight.absmax"),
    MISS(nf4_config, make_nf4, "m.weight.quant_map"),
    MISS(nf4_config, make_nf4, "m.weight.nested_absmax"),
    MISS(nf4_config, make_nf4, "m.weight.nested_quant_map"),
    WRONG_SHAPE(nf4_config, make_nf4, "m.weight", 5, 1, "as many codes"),
    WRONG_SHAPE(nf4_config, make_nf4, "m.weight.absmax", 15, 0, "one value per block"),
    WRONG_SHAPE(nf4_config, make_nf4, "m.weight.nested_absmax", 2, 0, "per nested block"),
    WRONG_SHAPE(nf4_config, make_nf4, "m.weight.nested_quant_map", 255, 0, "256 values"),
    WRONG_SHAPE(nf4_config, make_nf4, "m.weight.quant_map", 15, 0, "16 values"),
    WRONG_BYTES(nf4_config, make_nf4, "m.weight.nested_quant_map", 4, 0x7f800000, "4444",
                "not finite"),
    WRONG_BYTES(nf4_config, make_nf4, "m.weight.nested_absmax", 0, 0x7fc00000, "4444",
                "row 0, group 0 is nan"),
    WRONG_BYTES(nf4_config, make_nf4, "m.weight.quant_state.bitsandbytes__nf4", 0, '[', "1",
                "quant_state"),
    { &nf4_config, make_nf4, "m.weight.quant_map", BYTES, 4, 0, "4444", QUIRE_E_UNSUPPORTED,
      "differs from the values of NF4" },
    MISS(llm_int8_config, make_llm_int8, "m.weight"),
    WRONG_SHAPE(llm_int8_config, make_llm_int8, "m.SCB", ROWS + 1, 0, "one value per row"),
    WRONG_SHAPE(gptq_config, make_gptq, "m.scales", 2 * ROWS, 0, "m.scales has 1 dimensions"),
    WRONG_SHAPE(awq_config, make_awq, "m.qzeros", 3, 2, "m.qzeros has 2 dimensions"),
    WRONG_SHAPE(awq_config, make_awq, "m.qweight", COLS, 3, "m.scales has 2 dimensions"),
    WRONG_DTYPE(compressed_config, make_packed, "m.weight_shape", "F64", QUIRE_E_UNSUPPORTED,
                "m.weight_shape has type F64"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_shape", 8, 0, "88888888", "not positive"),
    WRONG_BYTES(compressed_config, make_packed, "m.weight_shape", 8, INT64_MAX, "88888888",
                "too large"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_packed", ROWS * 8, 0,
                "m.weight_packed has"),
    WRONG_SHAPE(compressed_config, make_packed, "m.weight_scale", 1, 0, "packed I32"),
    WRONG_DTYPE(compressed_config, make_int8, "m.weight_zero_point", "U8", QUIRE_E_FORMAT,
                "as many values"),
    WRONG_SHAPE(llm_int8_config, make_llm_int8, "m.weight", ROWS *COLS, 0, "m.weight is no matrix"),
    WRONG_SHAPE(llm_int8_config, make_llm_int8, "m.weight_format", 2, 0, "is not one byte"),
    { &llm_int8_config, make_llm_int8, "m.weight_format", BYTES, 0, 1, "1", QUIRE_E_UNSUPPORTED,
      "m.weight_format is 1" },
};

static void faults_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *f = &faults[i];
        struct quire_error err = QUIRE_ERROR_INIT;
        f->make();
        if (read_all(f->config, &err) != QUIRE_OK)
            fail_msg("fault %zu: without it: %s", i, err.msg);
        f->make();
        apply(f);
        const quire_status s = read_all(f->config, &err);
        if (s != f->status || !strstr(err.msg, f->text))
            fail_msg("fault %zu of %s: %s \"%s\", not \"%s\"", i, f->tensor, quire_status_name(s),
                     s ? err.msg : "", f->text);
    }
}

static void replace_state(const char *text)
{
    struct stored *t = stored_named("m.weight.quant_state.bitsandbytes__nf4");
    reshape(t->name, strlen(text), 0);
    memcpy(t->data, text, strlen(text));
}

static void bad_nf4_states(void **state)
{
    (void)state;
#define STATE(type, block, shape, more)                                                            \
    "{\"quant_type\":\"" type "\",\"blocksize\":" block ",\"shape\":" shape more "}"
    static const struct {
        const char *json, *text;
    } cases[] = {
        { STATE("fp4", "64", "[16,64]", ""), "quant_type fp4" },
        { STATE("nf4", "0", "[16,64]", ""), "blocksize" },
        { STATE("nf4", "32", "[16,64]", ""), "blocksize" },
        { STATE("nf4", "64", "[16]", ""), "shape" },
        { STATE("nf4", "64", "[16,0]", ""), "shape" },
        { STATE("nf4", "64", "[16,4294967296]", ""), "shape" },
        { STATE("nf4", "64", "[0,64]", ""), "shape" },
        { STATE("nf4", "64", "[\"a\",64]", ""), "shape" },
        { STATE("nf4", "\"a\"", "[16,64]", ""), "blocksize" },
        { "{\"shape\":[16,64],\"quant_type\":\"nf4\"}", "blocksize" },
        { "{\"shape\":[16,64],\"blocksize\":64,\"nested_blocksize\":\"a\"}", "nested" },
        { STATE("nf4", "64", "[32,32]", ""), "multiple of 64" },
        { STATE("nf4", "64", "[4294967295,4294967232]", ""), "as many codes" },
        { STATE("nf4", "64", "[16,64]", ",\"nested_blocksize\":0,\"nested_offset\":1"), "nested" },
        { STATE("nf4", "64", "[16,64]", ",\"nested_blocksize\":256"), "nested_offset" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        make_nf4();
        replace_state(cases[i].json);
        assert_int_not_equal(QUIRE_OK, read_all(&nf4_config, &err));
        if (!strstr(err.msg, cases[i].text))
            fail_msg("%s: %s", cases[i].json, err.msg);
    }
}

/* A zero point of 16 is an error of the first format only; lists of plain modules are honoured. */
static void options_matter(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    make_gptq();
    memset(stored_named("m.qzeros")->data, 255, stored_named("m.qzeros")->bytes);
    assert_status(QUIRE_OK, read_all(&gptq_v2_config, &err));
    static const char *const lists[][1] = { { "m" }, { "re:m" }, { "weight" }, { "" } };
    for (size_t i = 0; i < 4; i++) {
        struct qr_quantization_config config = fp8_config;
        config.plain = lists[i];
        config.n_plain = 1;
        make_fp8();
        assert_status(i == 0 ? QUIRE_E_FORMAT : QUIRE_OK, read_all(&config, &err));
        assert_true(i > 0 || strstr(err.msg, "lists m among the modules"));
    }
    make_packed();
    (void)store("m.weight", "BF16", ROWS, COLS, 0, 0); /* both forms of a weight */
    assert_status(QUIRE_E_FORMAT, read_all(&compressed_config, &err));
    assert_non_null(strstr(err.msg, "twice"));
}

/* Plain tensors stay as they are, and parts without a main tensor stay visible. */
static void plain_tensors_remain(void **state)
{
    (void)state;
    struct qr_weights w;
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t i;
    make_gptq();
    (void)store("head.weight", "BF16", 2, 3, 0, 0);
    (void)store("n.scales", "F16", 2, 3, 0, 0);
    assert_status(QUIRE_OK, open_stored(&gptq_config, &w, &err));
    assert_int_equal(qr_weights_source_count(&w), 3);
    assert_true(qr_weights_source_find(&w, "head.weight", &i));
    assert_true(qr_weights_source_find(&w, "n.scales", &i));
    assert_true(qr_weights_source_find(&w, "m.weight", &i));
    assert_false(qr_weights_source_find(&w, "m.qweight", &i));
    assert_false(qr_weights_source_find(&w, "m.scales", &i));
    close_stored(&w);
    forget_stored();
}

/* ---- quantization_config */

static void options(void **state)
{
    (void)state;
#define GPTQ          "\"quant_method\":\"gptq\",\"bits\":4"
#define ROUND(layout) "\"quant_method\":\"auto-round\",\"bits\":4,\"packing_format\":\"" layout "\""
#define GROUPS(format, weights)                                                                    \
    "\"quant_method\":\"compressed-tensors\",\"format\":\"" format                                 \
    "\",\"config_groups\":{\"group_0\":{\"weights\":" weights "}}"
#define FP4(strategy, group)                                                                       \
    "{\"num_bits\":4,\"type\":\"float\",\"strategy\":\"" strategy "\",\"group_size\":" group "}"
#define INT4 "{\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":32}"
    static const struct {
        const char *json;
        quire_status status;
        const char *text;
    } cases[] = {
        { GPTQ, QUIRE_OK, "" },
        { GPTQ ",\"group_size\":-1,\"desc_act\":true,\"checkpoint_format\":\"gptq_v2\"", QUIRE_OK,
          "" },
        { GPTQ ",\"dynamic\":{\"-:a.*\":{}},\"sym\":false,\"meta\":{\"a\":1}", QUIRE_OK, "" },
        { GPTQ ",\"dynamic\":{\"+:a.*\":{\"bits\":8,\"group_size\":32}}", QUIRE_OK, "" },
        { GPTQ ",\"dynamic\":{\"a.*\":{\"rotation\":1}}", QUIRE_E_UNSUPPORTED,
          "dynamic is \"rotation\"" },
        { GPTQ ",\"dynamic\":{\"+:a.*\":8}", QUIRE_E_FORMAT, "dynamic has the wrong type" },
        { ROUND("auto_round:auto_gptq"), QUIRE_OK, "" },
        { ROUND("auto_round:auto_awq") ",\"extra_config\":{\"lm_head\":{\"bits\":16}}", QUIRE_OK,
          "" },
        { ROUND("auto_round:auto_gptq") ",\"extra_config\":{\"a\":{\"bits\":8,\"sym\":true}}",
          QUIRE_OK, "" },
        { ROUND("auto_round:auto_gptq") ",\"extra_config\":{\"a\":{\"rotation\":1}}",
          QUIRE_E_UNSUPPORTED, "extra_config is \"rotation\"" },
        { ROUND("auto_round:auto_gptq") ",\"extra_config\":{\"a\":8}", QUIRE_E_FORMAT,
          "extra_config has the wrong type" },
        { ROUND("auto_round:nv_fp"), QUIRE_E_UNSUPPORTED,
          "packing_format is \"auto_round:nv_fp\"" },
        { ROUND("auto_round:auto_gptq") ",\"data_type\":\"mx_fp\"", QUIRE_E_UNSUPPORTED,
          "data_type is \"mx_fp\"" },
        { ROUND("auto_round:auto_gptq") ",\"super_bits\":6", QUIRE_E_UNSUPPORTED,
          "super_bits is not known" },
        { "\"quant_method\":\"auto-round\",\"bits\":4", QUIRE_E_FORMAT,
          "packing_format is missing" },
        { "\"quant_method\":\"auto-round\",\"packing_format\":\"auto_round:auto_awq\",\"bits\":8",
          QUIRE_E_UNSUPPORTED, "bits is \"8\"" },
        { GPTQ ",\"group_size\":48", QUIRE_E_UNSUPPORTED, "group_size is 48" },
        { GPTQ ",\"group_size\":0", QUIRE_E_UNSUPPORTED, "group_size is 0" },
        { GPTQ ",\"group_size\":\"a\"", QUIRE_E_FORMAT, "group_size" },
        { GPTQ ",\"checkpoint_format\":\"marlin\"", QUIRE_E_UNSUPPORTED, "marlin" },
        { GPTQ ",\"is_marlin_format\":true", QUIRE_E_UNSUPPORTED, "is_marlin_format" },
        { GPTQ ",\"pack_dtype\":\"int64\"", QUIRE_E_UNSUPPORTED, "int64" },
        { GPTQ ",\"rotation\":\"hadamard\"", QUIRE_E_UNSUPPORTED, "rotation is not known" },
        { "\"quant_method\":\"gptq\",\"bits\":3", QUIRE_E_UNSUPPORTED, "bits is \"3\"" },
        { "\"quant_method\":\"gptq\"", QUIRE_E_FORMAT, "bits is missing" },
        { "\"quant_method\":\"awq\",\"bits\":4,\"version\":\"GEMM\",\"zero_point\":true", QUIRE_OK,
          "" },
        { "\"quant_method\":\"awq\",\"bits\":4,\"version\":\"gemv\"", QUIRE_E_UNSUPPORTED, "gemv" },
        { "\"quant_method\":\"awq\",\"bits\":8", QUIRE_E_UNSUPPORTED, "bits is \"8\"" },
        { "\"quant_method\":\"fp8\",\"weight_block_size\":[128,128],\"fmt\":\"e4m3\"", QUIRE_OK,
          "" },
        { "\"quant_method\":\"fp8\",\"weight_block_size\":[128]", QUIRE_E_FORMAT,
          "weight_block_size" },
        { "\"quant_method\":\"fp8\",\"weight_block_size\":[0,128]", QUIRE_E_UNSUPPORTED,
          "weight_block_size" },
        { "\"quant_method\":\"fp8\",\"weight_block_size\":[128,40]", QUIRE_E_UNSUPPORTED,
          "weight_block_size" },
        { "\"quant_method\":\"fp8\",\"fmt\":\"e5m2\"", QUIRE_E_UNSUPPORTED, "e5m2" },
        { "\"quant_method\":\"fp8\",\"modules_to_not_convert\":[1]", QUIRE_E_FORMAT,
          "modules_to_not_convert" },
        { "\"quant_method\":\"fp8\",\"modules_to_not_convert\":\"a\"", QUIRE_E_FORMAT,
          "modules_to_not_convert" },
        { GROUPS("pack-quantized", INT4) ",\"ignore\":[\"lm_head\"]", QUIRE_OK, "" },
        { GROUPS("marlin-24", INT4), QUIRE_E_UNSUPPORTED, "marlin-24" },
        { GROUPS("pack-quantized", "{\"num_bits\":3}"), QUIRE_E_UNSUPPORTED, "num_bits" },
        { GROUPS("pack-quantized", "{\"num_bits\":4,\"strategy\":\"token\"}"), QUIRE_E_UNSUPPORTED,
          "token" },
        { GROUPS("float-quantized", "{\"num_bits\":4,\"type\":\"float\"}"), QUIRE_E_UNSUPPORTED,
          "num_bits" },
        { GROUPS("pack-quantized", "7"), QUIRE_E_FORMAT, "weights" },
        { GROUPS("pack-quantized", INT4) ",\"sparsity_config\":{\"format\":\"sparse-24\"}",
          QUIRE_E_UNSUPPORTED, "sparse-24" },
        { GROUPS("pack-quantized", INT4) ",\"transform_config\":{\"a\":1}", QUIRE_E_UNSUPPORTED,
          "transform_config" },
        { "\"quant_method\":\"compressed-tensors\"", QUIRE_E_FORMAT, "config_groups" },
        { GROUPS("nvfp4-pack-quantized", FP4("tensor_group", "16")), QUIRE_OK, "" },
        { GROUPS("mxfp4-pack-quantized", FP4("group", "32")), QUIRE_OK, "" },
        { GROUPS("mixed-precision", FP4("group", "32")), QUIRE_OK, "" },
        { "\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"group_size\":16,"
          "\"producer\":{\"name\":\"modelopt\"},\"ignore\":[\"lm_head\"]",
          QUIRE_OK, "" },
        { "\"quant_method\":\"modelopt_fp4\",\"quant_algo\":\"NVFP4\"", QUIRE_OK, "" },
        { "\"quant_method\":\"modelopt\",\"quant_algo\":\"W4A16_AWQ\"", QUIRE_E_UNSUPPORTED,
          "quant_algo is \"W4A16_AWQ\"" },
        { "\"quant_method\":\"modelopt\",\"quant_algo\":7", QUIRE_E_FORMAT, "quant_algo" },
        { "\"quant_method\":\"modelopt\",\"rotate\":true", QUIRE_E_UNSUPPORTED,
          "rotate is not known" },
        { "\"quant_method\":\"mxfp4\"", QUIRE_OK, "" },
        { "\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\"", QUIRE_OK, "" },
        { "\"quant_method\":\"bitsandbytes\",\"load_in_8bit\":true", QUIRE_OK, "" },
        { "\"quant_method\":\"bitsandbytes\"", QUIRE_E_FORMAT, "load_in_4bit" },
        { "\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true", QUIRE_E_UNSUPPORTED, "fp4" },
        { "\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\","
          "\"bnb_4bit_quant_storage\":\"bfloat16\"",
          QUIRE_E_UNSUPPORTED, "bfloat16" },
        { "\"quant_method\":\"hqq\"", QUIRE_E_UNSUPPORTED, "hqq" },
        { "\"quant_method\":7", QUIRE_E_FORMAT, "quant_method" },
        { "\"bits\":4", QUIRE_E_FORMAT, "quant_method is missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[800];
        struct qr_model_config cfg;
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(json, sizeof json,
                 "{\"model_type\":\"llama\",\"vocab_size\":320,\"hidden_size\":64,"
                 "\"intermediate_size\":160,\"num_hidden_layers\":4,\"num_attention_heads\":4,"
                 "\"quantization_config\":{%s}}",
                 cases[i].json);
        const quire_status s =
            qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, NULL, &cfg, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].text))
            fail_msg("%s: %s \"%s\"", cases[i].json, quire_status_name(s), err.msg);
        if (s == QUIRE_E_UNSUPPORTED && !strstr(err.msg, "weight_block_size"))
            assert_non_null(strstr(err.msg, "use the original checkpoint or a GGUF file"));
        qr_model_config_free(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_named), cmocka_unit_test(bad_nf4_states),
        cmocka_unit_test(options_matter),   cmocka_unit_test(plain_tensors_remain),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
