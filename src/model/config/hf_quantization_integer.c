/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_integer.c - options of GPTQ, AWQ and AutoRound. */
#include "model/config/hf_quantization_integer.h"
#include "base/error.h"
#include <string.h>

/* group_size: -1 (all of a row) or a multiple of 32. */
static quire_status read_group(struct qr_quantization_source *q, int64_t dflt)
{
    const struct qr_json *v = qr_json_get(q->root, "group_size");
    const bool given = v && !qr_json_is_null(v);
    if (given && !qr_json_is_integer(v))
        return qr_hf_quantization_bad(q, "group_size");
    const int64_t size = given ? qr_json_integer(v) : dflt;
    if (size == -1)
        return QUIRE_OK;
    if (size <= 0 || size % 32 != 0 || size > UINT32_MAX)
        return qr_fail(
            q->err, QUIRE_E_UNSUPPORTED,
            "%s: group_size is %lld, not -1 or a multiple of 32; " QR_QUANTIZATION_WAY_OUT, q->what,
            (long long)size);
    q->out->group = (uint32_t)size;
    return QUIRE_OK;
}

static quire_status read_bits(struct qr_quantization_source *q, const char *key, bool eight)
{
    enum qr_json_state state;
    QR_TRY(qr_json_u32(q->root, q->what, key, &q->out->bits, &state, q->err));
    if (state != QR_JSON_PRESENT)
        return qr_fail(q->err, QUIRE_E_FORMAT, "%s: %s is missing", q->what, key);
    return q->out->bits == 4 || (eight && q->out->bits == 8)
               ? QUIRE_OK
               : qr_hf_quantization_unsupported(q, key, qr_json_get(q->root, key));
}

/* A rule for some modules, which may change their bits and groups: the shapes of the tensors tell
 * both. */
static quire_status check_rule(struct qr_quantization_source *q, const char *key, const char *name,
                               const struct qr_json *rule)
{
    static const char *const known[] = { "bits",      "group_size", "sym", "desc_act",
                                         "data_type", "mse",        NULL };
    if (!name || !qr_json_is_object(rule))
        return qr_hf_quantization_bad(q, key);
    for (struct qr_json_iter i = qr_json_iterate(rule); qr_json_next(&i);)
        if (!qr_hf_quantization_listed(known, i.key) && !qr_hf_quantization_off(i.value))
            return qr_hf_quantization_refuse(q, key, i.key);
    q->out->mixed = true;
    return QUIRE_OK;
}

quire_status qr_hf_quantization_gptq(struct qr_quantization_source *q)
{
    static const char *const formats[] = { "gptq", "gptq_v2", NULL };
    static const char *const packing[] = { "int32", NULL };
    int index;
    bool marlin;
    QR_TRY(read_bits(q, "bits", true));
    QR_TRY(read_group(q, 128));
    QR_TRY(qr_hf_quantization_word(q, "checkpoint_format", formats, &index));
    if (!qr_json_is_string(qr_json_get(q->root, "checkpoint_format")))
        QR_TRY(qr_hf_quantization_word(q, "format", formats, &index));
    q->out->zero_minus_one = index == 0;
    QR_TRY(qr_hf_quantization_word(q, "pack_dtype", packing, &index));
    QR_TRY(qr_hf_quantization_bool(q, "is_marlin_format", false, &marlin));
    if (marlin)
        return qr_hf_quantization_refuse(q, "is_marlin_format", "true");
    /* "-:pattern" excludes modules, whose tensors then are plain */
    for (struct qr_json_iter i = qr_json_iterate(qr_json_get(q->root, "dynamic"));
         qr_json_next(&i);)
        if (!i.key || strncmp(i.key, "-:", 2) != 0)
            QR_TRY(check_rule(q, "dynamic", i.key, i.value));
    return QUIRE_OK;
}

/* AutoRound in the layouts of GPTQ and AWQ. Bits of 16 in extra_config: a plain module. */
quire_status qr_hf_quantization_auto_round(struct qr_quantization_source *q)
{
    static const char *const layouts[] = { "auto_round:auto_gptq", "auto_round:auto_awq", NULL };
    static const char *const types[] = { "int", NULL };
    int index;
    if (!qr_json_is_string(qr_json_get(q->root, "packing_format")))
        return qr_fail(q->err, QUIRE_E_FORMAT, "%s: packing_format is missing", q->what);
    QR_TRY(qr_hf_quantization_word(q, "packing_format", layouts, &index));
    q->out->method = index ? QR_QUANTIZATION_AWQ : QR_QUANTIZATION_GPTQ;
    q->out->zero_minus_one = index == 0;
    QR_TRY(qr_hf_quantization_word(q, "data_type", types, &index));
    QR_TRY(read_bits(q, "bits", q->out->method == QR_QUANTIZATION_GPTQ));
    QR_TRY(read_group(q, 128));
    for (struct qr_json_iter i = qr_json_iterate(qr_json_get(q->root, "extra_config"));
         qr_json_next(&i);) {
        uint32_t bits = 0;
        const bool plain = qr_json_is_u32(qr_json_get(i.value, "bits"), &bits) && bits >= 16;
        if (!plain)
            QR_TRY(check_rule(q, "extra_config", i.key, i.value));
    }
    return QUIRE_OK;
}

quire_status qr_hf_quantization_awq(struct qr_quantization_source *q)
{
    static const char *const versions[] = { "gemm", NULL };
    int index;
    QR_TRY(read_bits(q, qr_json_get(q->root, "bits") ? "bits" : "w_bit", false));
    QR_TRY(read_group(q, 128));
    return qr_hf_quantization_word(q, "version", versions, &index);
}

const char *const qr_hf_gptq_keys[] = { "bits",
                                        "group_size",
                                        "checkpoint_format",
                                        "format",
                                        "pack_dtype",
                                        "is_marlin_format",
                                        "dynamic",
                                        "desc_act",
                                        "sym",
                                        "lm_head",
                                        "static_groups",
                                        "true_sequential",
                                        "damp_percent",
                                        "damp_auto_increment",
                                        "model_name_or_path",
                                        "model_file_base_name",
                                        "meta",
                                        "dataset",
                                        "tokenizer",
                                        "block_name_to_quantize",
                                        "module_name_preceding_first_block",
                                        "batch_size",
                                        "pad_token_id",
                                        "use_cuda_fp16",
                                        "use_exllama",
                                        "disable_exllama",
                                        "exllama_config",
                                        "max_input_length",
                                        "cache_block_outputs",
                                        "modules_in_block_to_quantize",
                                        "model_seqlen",
                                        "backend",
                                        "mse",
                                        "version",
                                        "act_group_aware",
                                        "parallel_packing",
                                        NULL };
const char *const qr_hf_awq_keys[] = {
    "bits",    "w_bit",   "group_size",     "q_group_size",     "version",         "zero_point",
    "backend", "do_fuse", "exllama_config", "fuse_max_seq_len", "modules_to_fuse", NULL
};
const char *const qr_hf_auto_round_keys[] = { "bits",
                                              "group_size",
                                              "sym",
                                              "data_type",
                                              "packing_format",
                                              "extra_config",
                                              "autoround_version",
                                              "block_name_to_quantize",
                                              "to_quant_block_names",
                                              "act_bits",
                                              "act_data_type",
                                              "act_dynamic",
                                              "act_group_size",
                                              "act_sym",
                                              "amp",
                                              "backend",
                                              "batch_size",
                                              "dataset",
                                              "enable_minmax_tuning",
                                              "enable_norm_bias_tuning",
                                              "enable_quanted_input",
                                              "gradient_accumulate_steps",
                                              "iters",
                                              "low_gpu_mem_usage",
                                              "lr",
                                              "minmax_lr",
                                              "model_free",
                                              "nsamples",
                                              "scale_dtype",
                                              "seqlen",
                                              NULL };
