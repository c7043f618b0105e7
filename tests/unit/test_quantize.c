/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantize.c - the encoders of quire-quantize against plain rounding, read back by the
 * library's decoders. */
#include "base/half.h"
#include "base/weight_type.h"
#include "encode.h"
#include "encode_block.h"
#include "linear/dequantize.h"
#include "plan.h"
#include "quire_cmocka.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 * 64, MAX_BLOCK_BYTES = 256 };

static float x[N], y[N], importance[N];
static uint8_t encoded[4 * N];

static const uint32_t types[] = { QR_WEIGHT_Q8_0,   QR_WEIGHT_Q4_0,  QR_WEIGHT_Q4_K,
                                  QR_WEIGHT_Q5_K,   QR_WEIGHT_Q6_K,  QR_WEIGHT_IQ4_NL,
                                  QR_WEIGHT_IQ4_XS, QR_WEIGHT_MXFP4, QR_WEIGHT_F16,
                                  QR_WEIGHT_BF16 };
enum { N_TYPES = sizeof types / sizeof types[0] };

static double uniform(void) { return (rand() + 1.0) / (RAND_MAX + 2.0); }

static void fill_normal(float *out, size_t n, double sd)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(sd * sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()));
}

/* Weighted relative error of x after encoding. */
static double error_of(uint32_t type, size_t n, const float *w)
{
    double error = 0, sum = 0;
    encode_row(type, x, n, w, encoded);
    qr_weight_dequantize(type, encoded, n, y);
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(y[i]));
        const double wi = w ? w[i] : 1;
        error += wi * (x[i] - y[i]) * (x[i] - y[i]);
        sum += wi * (double)x[i] * x[i];
    }
    return sqrt(error / (sum > 0 ? sum : 1));
}

/* Every finite f16 value, and the points half way between two: they go to the even one. */
static void f16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float a = qr_f16_to_f32((uint16_t)h), b = qr_f16_to_f32((uint16_t)(h + 1));
        assert_int_equal(encode_f16(a), h);
        assert_int_equal(encode_f16(-a), h | 0x8000);
        assert_int_equal(encode_f16((a + b) / 2), h + (h & 1));
        assert_int_equal(encode_f16(nextafterf((a + b) / 2, b)), h + 1);
    }
    assert_int_equal(encode_f16(1e30f), 0x7bff);
    assert_int_equal(encode_f16(-65519), 0xfbff);
}

/* Errors for normal values in per cent, 2 % above what was measured. Plain rounding (the largest
 * value to the end of the range, no search) has 0.54 for Q8_0, 8.9 for Q4_0, 7.9 for Q4_K, 3.8 for
 * Q5_K, 1.9 for Q6_K. */
static void normal_values(void **state)
{
    (void)state;
    static const double limits[N_TYPES] = { 0.541, 8.23, 7.10, 3.50, 1.76,
                                            7.52,  7.56, 11.4, 0.03, 0.18 };
    for (int scale = -2; scale <= 3; scale++) {
        srand(7);
        fill_normal(x, N, pow(10, scale));
        for (int t = 0; t < N_TYPES; t++) {
            const double error = 100 * error_of(types[t], N, NULL);
            if (error > limits[t])
                fail_msg("%s: error %.4f %%", qr_weight_type_info(types[t])->name, error);
        }
    }
}

/* A search never loses to the plain choice of a scale, here that of Q4_0: the largest value goes
 * to code -8. */
static void no_worse_than_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        double plain = 0;
        float largest = 0;
        fill_normal(x, BLOCK, 1);
        if (round % 2)
            x[rand() % BLOCK] *= 10;
        for (int i = 0; i < BLOCK; i++)
            largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
        const float d = encode_round_f16(largest / -8);
        for (int i = 0; i < BLOCK; i++) {
            const double q = fmin(fmax(rint(x[i] / d), -8), 7);
            plain += (x[i] - d * q) * (x[i] - d * q);
        }
        double sum = 0;
        for (int i = 0; i < BLOCK; i++)
            sum += (double)x[i] * x[i];
        assert_true(error_of(QR_WEIGHT_Q4_0, BLOCK, NULL) <= sqrt(plain / sum) * 1.0005);
    }
}

static void special_blocks(void **state)
{
    (void)state;
    for (int t = 0; t < N_TYPES; t++) {
        memset(x, 0, sizeof x);
        assert_true(error_of(types[t], N, NULL) == 0);
        for (int i = 0; i < N; i++)
            assert_true(y[i] == 0);
        for (int i = 0; i < N; i++)
            x[i] = -0.5f;
        assert_true(error_of(types[t], N, NULL) < 0.012);
        for (int i = 0; i < N; i++) /* far beyond the scales of f16 */
            x[i] = i % 3 ? 1e30f : -1e30f;
        (void)error_of(types[t], N, NULL);
        for (int i = 0; i < N; i++) /* below them: all become 0 or stay tiny */
            x[i] = i % 3 ? 1e-38f : -1e-38f;
        (void)error_of(types[t], N, NULL);
        memset(x, 0, sizeof x);
        x[17] = 3;                                         /* one value in a block of zeros */
        assert_true(error_of(types[t], 256, NULL) < 0.05); /* IQ4 has no code for 0 */
    }
}

/* Values of high importance become more precise, at the cost of the others; an importance of zeros
 * is none. */
static void with_importance(void **state)
{
    (void)state;
    srand(3);
    fill_normal(x, N, 1);
    for (int i = 0; i < N; i++)
        importance[i] = i % 4 ? 0.01f : 1;
    for (int t = 0; t < N_TYPES; t++) {
        const uint32_t type = types[t];
        if (type == QR_WEIGHT_Q8_0 || qr_weight_type_info(type)->block_elems == 1)
            continue;
        double with = 0, without = 0;
        encode_row(type, x, N, importance, encoded);
        qr_weight_dequantize(type, encoded, N, y);
        for (int i = 0; i < N; i += 4)
            with += (x[i] - y[i]) * (x[i] - y[i]);
        encode_row(type, x, N, NULL, encoded);
        qr_weight_dequantize(type, encoded, N, y);
        for (int i = 0; i < N; i += 4)
            without += (x[i] - y[i]) * (x[i] - y[i]);
        assert_true(with < 0.97 * without);
    }
    memset(importance, 0, sizeof importance);
    for (int t = 0; t < N_TYPES; t++) {
        static uint8_t other[sizeof encoded];
        encode_row(types[t], x, N, importance, encoded);
        encode_row(types[t], x, N, NULL, other);
        assert_memory_equal(encoded, other, N / 2);
    }
}

/* A row is its blocks: no block depends on others. */
static void blocks_are_independent(void **state)
{
    (void)state;
    static uint8_t whole[sizeof encoded];
    srand(5);
    fill_normal(x, N, 1);
    for (int t = 0; t < N_TYPES; t++) {
        const struct qr_weight_type_info *info = qr_weight_type_info(types[t]);
        uint8_t one[MAX_BLOCK_BYTES];
        encode_row(types[t], x, N, NULL, whole);
        for (size_t i = 0; i < N; i += info->block_elems) {
            encode_row(types[t], x + i, info->block_elems, NULL, one);
            assert_memory_equal(one, whole + i / info->block_elems * info->block_bytes,
                                info->block_bytes);
        }
    }
}

static void supported(void **state)
{
    (void)state;
    for (int t = 0; t < N_TYPES; t++)
        assert_true(encode_supports(types[t]));
    assert_true(encode_supports(QR_WEIGHT_F32));
    assert_false(encode_supports(QR_WEIGHT_Q2_K));
    assert_false(encode_supports(99));
}

/* Vectors with several dimensions and small matrices keep their type. */
static void kept_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool kept;
    } tensors[] = {
        { "blk.3.attn_q.weight", false },
        { "blk.3.ffn_gate_inp.weight", true },
        { "blk.3.time_mix_lerp_fused.weight", true },
        { "blk.3.time_mix_lerp_x.weight", true },
        { "blk.3.channel_mix_lerp_r.weight", true },
        { "blk.3.time_mix_first.weight", true },
        { "blk.3.time_mix_w2.weight", true },
        { "blk.3.time_mix_g1.weight", true },
        { "blk.3.time_mix_decay_w1.weight", true },
        { "blk.3.time_mix_gate.weight", false },
        { "blk.3.time_mix_receptance.weight", false },
        { "blk.3.channel_mix_value.weight", false },
        { "time_mix_w2.weight", false },
    };
    const struct plan p = { .scheme = scheme_find("Q8_0"), .n_layers = 8 };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        const struct qr_gguf_tensor t = { .name = tensors[i].name,
                                          .name_len = (uint32_t)strlen(tensors[i].name),
                                          .type = QR_WEIGHT_F32,
                                          .n_dims = 2,
                                          .dims = { 256, 8, 1, 1 } };
        assert_int_equal(plan_type(&p, &t), tensors[i].kept ? QR_WEIGHT_F32 : QR_WEIGHT_Q8_0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16),
        cmocka_unit_test(normal_values),
        cmocka_unit_test(no_worse_than_plain),
        cmocka_unit_test(special_blocks),
        cmocka_unit_test(with_importance),
        cmocka_unit_test(blocks_are_independent),
        cmocka_unit_test(supported),
        cmocka_unit_test(kept_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
