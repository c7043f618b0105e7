/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization.c - quantization_config of config.json, and hf_quant_config.json: the method, and
 * what the tensors do not say themselves. */
#include "model/config/hf_quantization.h"
#include "base/error.h"
#include "model/config/hf_quantization_groups.h"
#include "model/config/hf_quantization_integer.h"
#include <string.h>

/* ---- Methods */

/* weight_block_size: [rows, columns], or null for scales of rows or tensors. */
static quire_status read_fp8(struct qr_quantization_source *q)
{
    static const char *const formats[] = { "e4m3", "float8_e4m3fn", NULL };
    static const char *const schemes[] = { "dynamic", "static", NULL };
    const struct qr_json *size = qr_json_get(q->root, "weight_block_size");
    int index;
    QR_TRY(qr_hf_quantization_word(q, "fmt", formats, &index));
    QR_TRY(qr_hf_quantization_word(q, "activation_scheme", schemes, &index));
    if (!size || qr_json_is_null(size))
        return QUIRE_OK;
    return qr_hf_quantization_block(q, "weight_block_size", size);
}

static quire_status read_bitsandbytes(struct qr_quantization_source *q)
{
    static const char *const types[] = { "nf4", NULL };
    static const char *const storage[] = { "uint8", NULL };
    bool four, eight;
    int index;
    QR_TRY(qr_hf_quantization_bool(q, "load_in_4bit", false, &four));
    QR_TRY(qr_hf_quantization_bool(q, "_load_in_4bit", four, &four));
    QR_TRY(qr_hf_quantization_bool(q, "load_in_8bit", false, &eight));
    QR_TRY(qr_hf_quantization_bool(q, "_load_in_8bit", eight, &eight));
    if (four == eight)
        return qr_fail(q->err, QUIRE_E_FORMAT,
                       "%s: one of load_in_4bit and load_in_8bit must be true", q->what);
    q->out->method = four ? QR_QUANTIZATION_NF4 : QR_QUANTIZATION_LLM_INT8;
    if (!four)
        return QUIRE_OK;
    /* the reference's default is fp4 */
    if (!qr_json_is_string(qr_json_get(q->root, "bnb_4bit_quant_type")))
        return qr_hf_quantization_refuse(q, "bnb_4bit_quant_type", "fp4");
    QR_TRY(qr_hf_quantization_word(q, "bnb_4bit_quant_type", types, &index));
    return qr_hf_quantization_word(q, "bnb_4bit_quant_storage", storage, &index);
}

/* The names of ModelOpt's methods; in a mixture the tensors tell which one a matrix has. */
static quire_status read_modelopt(struct qr_quantization_source *q)
{
    static const char *const algorithms[] = {
        "NVFP4", "W4A16_NVFP4", "FP8", "FP8_PER_CHANNEL_PER_TOKEN", "MIXED_PRECISION", NULL
    };
    int index;
    return qr_hf_quantization_word(q, "quant_algo", algorithms, &index);
}

static quire_status read_mxfp4(struct qr_quantization_source *q)
{
    (void)q;
    return QUIRE_OK;
}

/* Options whose value the readers look at, then those that change no result: how the checkpoint was
 * made, how activations are quantized elsewhere (quire computes with them as docs/numerics.md
 * says), and settings of other programs. */
static const char *const fp8_keys[] = { "fmt",
                                        "activation_scheme",
                                        "weight_block_size",
                                        "scale_fmt",
                                        "activation_scale_ub",
                                        "kv_cache_scheme",
                                        "dequantize",
                                        NULL };
static const char *const bitsandbytes_keys[] = { "load_in_4bit",
                                                 "load_in_8bit",
                                                 "_load_in_4bit",
                                                 "_load_in_8bit",
                                                 "bnb_4bit_quant_type",
                                                 "bnb_4bit_quant_storage",
                                                 "bnb_4bit_use_double_quant",
                                                 "bnb_4bit_compute_dtype",
                                                 "llm_int8_enable_fp32_cpu_offload",
                                                 "llm_int8_has_fp16_weight",
                                                 "llm_int8_threshold",
                                                 NULL };
static const char *const compressed_keys[] = { "format",
                                               "config_groups",
                                               "global_compression_ratio",
                                               "kv_cache_scheme",
                                               "quantization_status",
                                               "sparsity_config",
                                               "transform_config",
                                               "version",
                                               "run_compressed",
                                               NULL };
static const char *const modelopt_keys[] = { "quant_algo",      "kv_cache_quant_algo",
                                             "kv_cache_scheme", "group_size",
                                             "config_groups",   "quantized_layers",
                                             "producer",        NULL };
static const char *const mxfp4_keys[] = { "dequantize", NULL };

static const struct {
    const char *name;
    enum qr_quantization_method method;
    const char *const *keys;
    quire_status (*read)(struct qr_quantization_source *q);
} methods[] = {
    { "fp8", QR_QUANTIZATION_FP8, fp8_keys, read_fp8 },
    { "fbgemm_fp8", QR_QUANTIZATION_FP8, fp8_keys, read_fp8 },
    { "gptq", QR_QUANTIZATION_GPTQ, qr_hf_gptq_keys, qr_hf_quantization_gptq },
    { "awq", QR_QUANTIZATION_AWQ, qr_hf_awq_keys, qr_hf_quantization_awq },
    { "auto-round", QR_QUANTIZATION_GPTQ, qr_hf_auto_round_keys, qr_hf_quantization_auto_round },
    { "compressed-tensors", QR_QUANTIZATION_COMPRESSED, compressed_keys,
      qr_hf_quantization_groups },
    { "modelopt", QR_QUANTIZATION_MODELOPT, modelopt_keys, read_modelopt },
    { "modelopt_fp4", QR_QUANTIZATION_MODELOPT, modelopt_keys, read_modelopt },
    { "mxfp4", QR_QUANTIZATION_MXFP4, mxfp4_keys, read_mxfp4 },
    { "bitsandbytes", QR_QUANTIZATION_NF4, bitsandbytes_keys, read_bitsandbytes },
};

/* ---- Modules that are not quantized */

/* Keys of lists of modules that are not quantized. */
static const char *const plain_keys[] = { "modules_to_not_convert", "ignored_layers", "ignore",
                                          "exclude_modules", "llm_int8_skip_modules" };
enum { N_PLAIN_KEYS = sizeof plain_keys / sizeof *plain_keys };

static quire_status count_plain(struct qr_quantization_source *q, size_t *n)
{
    *n = 0;
    for (size_t k = 0; k < N_PLAIN_KEYS; k++) {
        const struct qr_json *list = qr_json_get(q->root, plain_keys[k]);
        if (list && !qr_json_is_null(list) && !qr_json_is_array(list))
            return qr_hf_quantization_bad(q, plain_keys[k]);
        for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i); ++*n)
            if (!qr_json_is_string(i.value))
                return qr_hf_quantization_bad(q, plain_keys[k]);
    }
    return QUIRE_OK;
}

/* Appends the names of one list; false without memory. */
static bool add_plain(struct qr_quantization_source *q, const struct qr_json *list,
                      const char **names)
{
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        const char *name =
            qr_arena_strndup(q->memory, qr_json_string(i.value), qr_json_string_size(i.value));
        if (!name)
            return false;
        names[q->out->n_plain++] = name;
    }
    return true;
}

static quire_status read_plain(struct qr_quantization_source *q)
{
    size_t n;
    QR_TRY(count_plain(q, &n));
    const char **names = qr_arena_alloc(q->memory, n, sizeof *names);
    bool ok = names != NULL;
    for (size_t k = 0; ok && k < N_PLAIN_KEYS; k++)
        ok = add_plain(q, qr_json_get(q->root, plain_keys[k]), names);
    q->out->plain = names;
    return ok ? QUIRE_OK : qr_fail(q->err, QUIRE_E_NOMEM, "no memory for a list of %zu modules", n);
}

/* ---- Entry point */

static quire_status check_keys(const struct qr_quantization_source *q, const char *const *known,
                               const struct qr_unknown_policy *policy)
{
    for (struct qr_json_iter i = qr_json_iterate(q->root); qr_json_next(&i);) {
        bool plain = !strcmp(i.key, "quant_method") || !strcmp(i.key, "quant_type");
        for (size_t k = 0; k < N_PLAIN_KEYS; k++)
            plain |= !strcmp(i.key, plain_keys[k]);
        if (!plain && !qr_hf_quantization_listed(known, i.key) && !qr_hf_quantization_off(i.value))
            QR_TRY(qr_unknown_report(policy, q->err,
                                     "%s: %.60s is not known, so the weights may mean something "
                                     "else; " QR_QUANTIZATION_WAY_OUT,
                                     q->what, i.key));
    }
    return QUIRE_OK;
}

/* Whether hf_quant_config.json says that weights are quantized; it may describe the KV cache
 * alone. */
static bool has_algorithm(const struct qr_quantization_source *q)
{
    const struct qr_json *v = qr_json_get(q->root, "quant_algo");
    return v && !qr_json_is_null(v);
}

/* Reads the options of a method. */
static quire_status read_options(struct qr_quantization_source *q, const char *method,
                                 const struct qr_unknown_policy *policy)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(method, methods[i].name)) {
            q->out->method = methods[i].method;
            QR_TRY(methods[i].read(q));
            QR_TRY(check_keys(q, methods[i].keys, policy));
            return read_plain(q);
        }
    return qr_hf_quantization_refuse(q, "quant_method", method);
}

quire_status qr_hf_read_quantization(const struct qr_hf_source *h,
                                     const struct qr_unknown_policy *policy)
{
    static const char key[] = "quantization_config";
    const struct qr_json *root = qr_json_get(h->outer, key);
    if (!qr_json_is_object(root))
        root = qr_json_get(h->root, key);
    if (!qr_json_is_object(root))
        return QUIRE_OK;
    qr_hf_mark(h, h->outer, key);
    qr_hf_mark(h, h->root, key);
    struct qr_quantization_source q = { .what = "config.json: quantization_config",
                                        .root = root,
                                        .out = &h->cfg->quantization,
                                        .memory = &h->cfg->memory,
                                        .err = h->err };
    const char *name = NULL;
    enum qr_json_state state;
    QR_TRY(qr_json_str(root, q.what, "quant_method", &name, &state, h->err));
    if (!name && qr_json_get(root, "load_in_4bit"))
        name = "bitsandbytes"; /* older writers */
    if (!name)
        return qr_fail(h->err, QUIRE_E_FORMAT, "%s: quant_method is missing", q.what);
    return read_options(&q, name, policy);
}

quire_status qr_model_config_read_modelopt(struct qr_model_config *cfg, const char *json,
                                           size_t size, const struct qr_unknown_policy *policy,
                                           struct quire_error *err)
{
    static const char file[] = "hf_quant_config.json";
    struct qr_json *root;
    if (cfg->quantization.method != QR_QUANTIZATION_NONE)
        return QUIRE_OK;
    QR_TRY(qr_json_parse_object(json, size, file, 0, cfg->memory.allocator, &root, err));
    struct qr_quantization_source q = { .what = "hf_quant_config.json: quantization",
                                        .root = qr_json_get(root, "quantization"),
                                        .out = &cfg->quantization,
                                        .memory = &cfg->memory,
                                        .err = err };
    quire_status s = QUIRE_OK;
    if (!qr_json_is_object(q.root))
        s = qr_fail(err, QUIRE_E_FORMAT, "%s is missing or no object", q.what);
    else if (has_algorithm(&q))
        s = read_options(&q, "modelopt", policy);
    qr_json_free(root);
    return s;
}
