/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_groups.c - config_groups of compressed-tensors checkpoints: which weights the
 * tensors can hold. */
#include "model/config/hf_quantization_groups.h"
#include "base/error.h"
#include <string.h>

quire_status qr_hf_quantization_block(struct qr_quantization_source *q, const char *key,
                                      const struct qr_json *size)
{
    uint32_t rows, columns;
    if (!qr_json_is_array(size) || qr_json_size(size) != 2 ||
        !qr_json_is_u32(qr_json_at(size, 0), &rows) ||
        !qr_json_is_u32(qr_json_at(size, 1), &columns))
        return qr_hf_quantization_bad(q, key);
    if (rows == 0 || columns == 0 || columns % 32 != 0)
        return qr_fail(q->err, QUIRE_E_UNSUPPORTED,
                       "%s: %s is [%u, %u]; the columns must be a multiple of 32", q->what, key,
                       rows, columns);
    q->out->block_rows = rows;
    q->out->block_columns = columns;
    return QUIRE_OK;
}

/* Whether `value` is one of the words; a missing value or null is, too. */
static bool one_of(const struct qr_json *value, const char *const *words)
{
    if (!value || qr_json_is_null(value))
        return true;
    return qr_json_is_string(value) && qr_hf_quantization_listed(words, qr_json_string(value));
}

static quire_status check_word(struct qr_quantization_source *q, const struct qr_json *object,
                               const char *key, const char *const *words)
{
    const struct qr_json *value = qr_json_get(object, key);
    return one_of(value, words) ? QUIRE_OK : qr_hf_quantization_unsupported(q, key, value);
}

/* `weights` of one group of modules; fp4: in a format that may have floats of 4 bits. */
static quire_status check_weights(struct qr_quantization_source *q, const struct qr_json *weights,
                                  bool fp4)
{
    static const char *const strategies[] = { "tensor", "channel",      "group",
                                              "block",  "tensor_group", NULL };
    static const char *const types[] = { "int", "float", NULL };
    static const char *const orders[] = { "group", "weight", "static", NULL };
    QR_TRY(check_word(q, weights, "strategy", strategies));
    QR_TRY(check_word(q, weights, "type", types));
    /* older writers: true for "group" */
    if (!qr_json_is_bool(qr_json_get(weights, "actorder")))
        QR_TRY(check_word(q, weights, "actorder", orders));
    const struct qr_json *bits = qr_json_get(weights, "num_bits");
    const struct qr_json *type = qr_json_get(weights, "type");
    uint32_t n = 0;
    if (!qr_json_is_u32(bits, &n))
        return qr_hf_quantization_bad(q, "num_bits");
    const bool is_float = qr_json_is_string(type) && !strcmp(qr_json_string(type), "float");
    if (n != 8 && (n != 4 || (is_float && !fp4)))
        return qr_hf_quantization_unsupported(q, "num_bits", bits);
    const struct qr_json *block = qr_json_get(weights, "block_structure");
    return qr_json_is_array(block) ? qr_hf_quantization_block(q, "block_structure", block)
                                   : QUIRE_OK;
}

quire_status qr_hf_quantization_groups(struct qr_quantization_source *q)
{
    static const char *const formats[] = {
        "pack-quantized",
        "int-quantized",
        "float-quantized",
        "naive-quantized",
        "nvfp4-pack-quantized",
        "mxfp4-pack-quantized",
        "mixed-precision",
        "dense",
        NULL,
    };
    static const char *const fp4[] = { "nvfp4-pack-quantized", "mxfp4-pack-quantized",
                                       "mixed-precision", NULL };
    static const char *const dense[] = { "dense", NULL };
    static const char *const compressed[] = { "compressed", "frozen", NULL };
    QR_TRY(check_word(q, q->root, "format", formats));
    QR_TRY(check_word(q, q->root, "quantization_status", compressed));
    QR_TRY(check_word(q, qr_json_get(q->root, "sparsity_config"), "format", dense));
    if (qr_json_size(qr_json_get(q->root, "transform_config")) > 0)
        return qr_fail(q->err, QUIRE_E_UNSUPPORTED,
                       "%s: transform_config is not supported; use the original checkpoint or a "
                       "GGUF file",
                       q->what);
    const struct qr_json *groups = qr_json_get(q->root, "config_groups");
    if (!qr_json_is_object(groups))
        return qr_hf_quantization_bad(q, "config_groups");
    for (struct qr_json_iter i = qr_json_iterate(groups); qr_json_next(&i);) {
        const struct qr_json *weights = qr_json_get(i.value, "weights");
        if (!qr_json_is_object(i.value))
            return qr_hf_quantization_bad(q, "config_groups");
        QR_TRY(check_word(q, i.value, "format", formats));
        const struct qr_json *own = qr_json_get(i.value, "format");
        if (!qr_json_is_string(own))
            own = qr_json_get(q->root, "format");
        if (qr_json_is_object(weights))
            QR_TRY(check_weights(q, weights, qr_json_is_string(own) && one_of(own, fp4)));
        else if (weights && !qr_json_is_null(weights))
            return qr_hf_quantization_bad(q, "weights");
    }
    return QUIRE_OK;
}
