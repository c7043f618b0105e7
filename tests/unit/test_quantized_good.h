/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized_good.h - a matrix without fault in every quantized format. */
#ifndef QUIRE_TEST_QUANTIZED_GOOD_H
#define QUIRE_TEST_QUANTIZED_GOOD_H
#include "test_quantized.h"

enum { ROWS = 16, COLS = 64, GROUP = 32 };
static const struct qr_quantization_config gptq_config = {
    .method = QR_QUANTIZATION_GPTQ, .bits = 4, .group = GROUP, .zero_minus_one = true
};
static const struct qr_quantization_config mixed_config = {
    .method = QR_QUANTIZATION_GPTQ, .bits = 8, .group = 128, .mixed = true
};
static const struct qr_quantization_config awq_config = { .method = QR_QUANTIZATION_AWQ,
                                                          .bits = 4,
                                                          .group = GROUP };
static const struct qr_quantization_config fp8_config = { .method = QR_QUANTIZATION_FP8,
                                                          .block_rows = 8,
                                                          .block_columns = GROUP };
static const struct qr_quantization_config compressed_config = { .method =
                                                                     QR_QUANTIZATION_COMPRESSED };
static const struct qr_quantization_config mxfp4_config = { .method = QR_QUANTIZATION_MXFP4 };
static const struct qr_quantization_config modelopt_config = { .method = QR_QUANTIZATION_MODELOPT };
static const struct qr_quantization_config nf4_config = { .method = QR_QUANTIZATION_NF4 };
static const struct qr_quantization_config llm_int8_config = { .method = QR_QUANTIZATION_LLM_INT8 };

/* ---- Matrices without fault */

static inline void make_gptq(void)
{
    (void)store("m.qweight", "I32", COLS / 8, ROWS, 0, 0);
    (void)store("m.qzeros", "I32", COLS / GROUP, ROWS / 8, 0, 0);
    (void)store("m.scales", "F16", COLS / GROUP, ROWS, 0, 0);
    int32_t *g = store("m.g_idx", "I32", COLS, 0, 0, 0);
    for (int k = 0; k < COLS; k++)
        g[k] = (k + 1) % COLS / GROUP; /* not ascending */
}

static inline void make_awq(void)
{
    (void)store("m.qweight", "I32", COLS, ROWS / 8, 0, 0);
    (void)store("m.qzeros", "I32", COLS / GROUP, ROWS / 8, 0, 0);
    (void)store("m.scales", "F16", COLS / GROUP, ROWS, 0, 0);
}

static inline void make_fp8(void)
{
    (void)store("m.weight", "F8_E4M3", ROWS, COLS, 0, 0);
    (void)store("m.weight_scale_inv", "F32", ROWS / 8, COLS / GROUP, 0, 0);
}

static inline void make_packed(void)
{
    (void)store("m.weight_packed", "I32", ROWS, COLS / 8, 0, 0);
    (void)store("m.weight_scale", "BF16", ROWS, COLS / GROUP, 0, 0);
    int64_t *shape = store("m.weight_shape", "I64", 2, 0, 0, 0);
    shape[0] = ROWS;
    shape[1] = COLS;
    (void)store("m.weight_zero_point", "I32", ROWS / 8, COLS / GROUP, 0, 0);
}

static inline void make_int8(void)
{
    (void)store("m.weight", "I8", ROWS, COLS, 0, 0);
    (void)store("m.weight_scale", "BF16", ROWS, 1, 0, 0);
    (void)store("m.weight_zero_point", "I8", ROWS, 1, 0, 0);
}

static inline void make_mxfp4(void)
{
    (void)store("m_blocks", "U8", 2, ROWS, COLS / 32, 16);
    (void)store("m_scales", "U8", 2, ROWS, COLS / 32, 0);
}

/* NVFP4 has scales in E4M3 and one of the matrix. */
static inline void make_modelopt(void)
{
    static const float one = 1;
    (void)store("m.weight", "U8", ROWS, COLS / 2, 0, 0);
    (void)store("m.weight_scale", "F8_E4M3", ROWS, COLS / 16, 0, 0);
    memcpy(store("m.weight_scale_2", "F32", 1, 0, 0, 0), &one, sizeof one);
    (void)store("m.input_scale", "F32", 1, 0, 0, 0);
}

static inline void make_packed_nvfp4(void)
{
    static const float one = 1;
    (void)store("m.weight_packed", "U8", ROWS, COLS / 2, 0, 0);
    (void)store("m.weight_scale", "F8_E4M3", ROWS, COLS / 16, 0, 0);
    memcpy(store("m.weight_global_scale", "F32", 1, 0, 0, 0), &one, sizeof one);
    (void)store("m.input_global_scale", "F32", 1, 0, 0, 0);
}

static inline void make_packed_mxfp4(void)
{
    (void)store("m.weight_packed", "U8", ROWS, COLS / 2, 0, 0);
    (void)store("m.weight_scale", "U8", ROWS, COLS / 32, 0, 0);
}

static const char nf4_state[] = "{\"quant_type\":\"nf4\",\"blocksize\":64,\"shape\":[16,64],"
                                "\"nested_blocksize\":256,\"nested_offset\":0.5}";
static inline void make_nf4(void)
{
    static const float values[16] = { QR_NF4_VALUES };
    memcpy(store("m.weight.quant_state.bitsandbytes__nf4", "U8", sizeof nf4_state - 1, 0, 0, 0),
           nf4_state, sizeof nf4_state - 1);
    (void)store("m.weight", "U8", ROWS * COLS / 2, 1, 0, 0);
    (void)store("m.weight.absmax", "U8", ROWS * COLS / 64, 0, 0, 0);
    (void)store("m.weight.nested_absmax", "F32", 1, 0, 0, 0);
    (void)store("m.weight.nested_quant_map", "F32", 256, 0, 0, 0);
    memcpy(store("m.weight.quant_map", "F32", 16, 0, 0, 0), values, sizeof values);
}

static inline void make_llm_int8(void)
{
    (void)store("m.weight", "I8", ROWS, COLS, 0, 0);
    (void)store("m.SCB", "F32", ROWS, 0, 0, 0);
    (void)store("m.weight_format", "U8", 1, 0, 0, 0);
}
/* Opens the tensors and reads all rows of all matrices. */
static inline quire_status read_all(const struct qr_quantization_config *config,
                                    struct quire_error *err)
{
    struct qr_weights w;
    quire_status s = open_stored(config, &w, err);
    for (size_t i = 0; s == QUIRE_OK && i < qr_weights_source_count(&w); i++) {
        struct qr_source_tensor t;
        qr_weights_source_tensor(&w, i, &t);
        uint8_t *rows = malloc(t.bytes);
        s = qr_weights_read_source(&w, i, 0, t.bytes, rows, err);
        free(rows);
    }
    close_stored(&w);
    forget_stored();
    return s;
}

#endif
