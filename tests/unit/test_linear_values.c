/* SPDX-License-Identifier: Apache-2.0 */
/* test_linear_values.c - dequantized values of all weight types: by formula, and compared with
 * other implementations. */
#include "base/weight_type.h"
#include "linear/dequantize.h"
#include "linear/iq1_grid.h"
#include "linear/iq2_grid.h"
#include "linear/iq3_grid.h"
#include "linear/packed.h"
#include "quire_cmocka.h"
#include <math.h>
#ifdef QUIRE_WITH_TEXT
#include "format/safetensors.h"
#endif

static uint32_t rng = 1;
static uint8_t random_byte(void)
{
    rng = rng * 1664525u + 1013904223u;
    return (uint8_t)(rng >> 24);
}

/* ---- values by formula */

static void set_half(uint8_t *p, uint16_t h) { memcpy(p, &h, sizeof h); }

static void plain_types_by_formula(void **state)
{
    (void)state;
    const float f32[3] = { 1.5f, -0.0f, 0x1p-149f };
    const uint16_t f16[6] = { 0x3c00, 0xc500, 0x0001, 0x03ff, 0x7bff, 0x7c00 };
    const uint16_t bf16[3] = { 0x3fc0, 0x8001, 0xff80 };
    float out[6];
    qr_weight_dequantize(QR_WEIGHT_F32, f32, 3, out);
    assert_memory_equal(out, f32, sizeof f32);
    qr_weight_dequantize(QR_WEIGHT_F16, f16, 6, out);
    assert_true(out[0] == 1 && out[1] == -5 && out[2] == 0x1p-24f && out[3] == 1023 * 0x1p-24f &&
                out[4] == 65504 && out[5] > 1e38f);
    qr_weight_dequantize(QR_WEIGHT_BF16, bf16, 3, out);
    assert_true(out[0] == 1.5f && out[1] == -0x1p-133f && out[2] < -1e38f);
}

static void q5_1_by_formula(void **state)
{
    (void)state;
    uint8_t block[24] = { 0 };
    float out[32];
    set_half(block, 0x3800);     /* d = 0.5 */
    set_half(block + 2, 0xc000); /* m = -2 */
    block[4 + 0] = 0x02;         /* fifth bit of value 1 */
    block[4 + 3] = 0x80;         /* fifth bit of value 31 */
    block[8 + 0] = 0x53;         /* value 0 = 3, value 16 = 5 */
    block[8 + 1] = 0x0f;         /* value 1 = 15 + 16 */
    block[8 + 15] = 0xa0;        /* value 31 = 10 + 16 */
    qr_weight_dequantize(QR_WEIGHT_Q5_1, block, 32, out);
    assert_true(out[0] == 3 * 0.5f - 2 && out[16] == 5 * 0.5f - 2 && out[1] == 31 * 0.5f - 2);
    assert_true(out[31] == 26 * 0.5f - 2 && out[7] == -2);
}

static void mxfp4_by_formula(void **state)
{
    (void)state;
    static const float e2m1[16] = {
        0, .5f, 1, 1.5f, 2, 3, 4, 6, 0, -.5f, -1, -1.5f, -2, -3, -4, -6
    };
    static const struct {
        uint8_t e;
        float scale;
    } scales[] = { { 127, 1 },       { 130, 8 },       { 120, 0x1p-7f }, { 1, 0x1p-126f },
                   { 0, 0x1p-127f }, { 2, 0x1p-125f }, { 252, 0x1p125f } };
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        uint8_t block[17] = { scales[s].e };
        float out[32];
        for (int i = 0; i < 16; i++)
            block[1 + i] = (uint8_t)(i | (15 - i) << 4);
        qr_weight_dequantize(QR_WEIGHT_MXFP4, block, 32, out);
        for (int i = 0; i < 16; i++) {
            assert_true(out[i] == e2m1[i] * scales[s].scale);
            assert_true(out[16 + i] == e2m1[15 - i] * scales[s].scale);
        }
    }
}

/* ---- values from other implementations */

/* FNV-1a hash of a grid in the published form: one byte per magnitude. */
static uint64_t grid_hash(const uint16_t *grid, size_t n, bool xxs)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 4 * n; i++) {
        const unsigned digit = grid[i / 4] >> (3 * (i % 4)) & 7, magnitude = !xxs ? 2 * digit + 1
                                                                             : digit == 7
                                                                                 ? 62
                                                                                 : 8 * digit + 4;
        h = (h ^ magnitude) * 0x100000001b3u;
    }
    return h;
}

/* The same of a grid of eight values per entry: digit d is the byte bytes[d]. */
static uint64_t grid_hash_8(const uint16_t *grid, size_t n, const uint8_t bytes[4])
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 8 * n; i++)
        h = (h ^ bytes[grid[i / 8] >> (2 * (i % 8)) & 3]) * 0x100000001b3u;
    return h;
}

static void grids_match_the_format(void **state)
{
    (void)state;
    assert_true(grid_hash(qr_iq3_xxs_grid, 256, true) == 0xdfa5dc83d6a155d5u);
    assert_true(grid_hash(qr_iq3_s_grid, 512, false) == 0xfa37020c25b44829u);
    static const uint8_t iq2[4] = { 8, 25, 43, 0 }, iq1[4] = { 255, 0, 1, 2 };
    assert_true(grid_hash_8(qr_iq2_xxs_grid, 256, iq2) == 0xbb4ee025b5ac6e8eu);
    assert_true(grid_hash_8(qr_iq2_xs_grid, 512, iq2) == 0xc9b1ee61e79909bdu);
    assert_true(grid_hash_8(qr_iq2_s_grid, 1024, iq2) == 0x123edd38a3b62b90u);
    assert_true(grid_hash_8(qr_iq1_grid, 2048, iq1) == 0x6703ed863501ae2eu);
}

/* Decodes random blocks by a definition that follows the text of the format, value by value, in
 * double, and compares all bits but the sign of zero. */
static void compare_blocks(enum qr_weight_type type,
                           double (*value)(const uint8_t *block, size_t i))
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    const size_t n = info->block_elems, bytes = info->block_bytes;
    uint8_t *raw = malloc(bytes);
    float *out = malloc(n * sizeof *out);
    assert_true(raw && out);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < bytes; i++)
            raw[i] = random_byte();
        qr_weight_dequantize(type, raw, n, out);
        for (size_t i = 0; i < n; i++) {
            const float want = (float)value(raw, i);
            if (out[i] != want && !(isnan(out[i]) && isnan(want)))
                fail_msg("%s: value %zu is %a, not %a", info->name, i, (double)out[i],
                         (double)want);
        }
    }
    free(raw);
    free(out);
}

static double f16_value(unsigned bits)
{
    const unsigned e = bits >> 10 & 31, m = bits & 1023;
    const double v = e == 31 ? (m ? NAN : INFINITY)
                     : e     ? ldexp(1024 + m, (int)e - 25)
                             : ldexp(m, -24);
    return bits >> 15 ? -v : v;
}

static double f16_at(const uint8_t *p) { return f16_value((unsigned)(p[0] | p[1] << 8)); }

/* f16 d; u8 q[32]; u8 signs[32]; u8 qh[8]; u8 scales[8]. Entry l of 8 values: 10 bits of index. */
static double iq2_s_value(const uint8_t *b, size_t i)
{
    static const int magnitude[3] = { 8, 25, 43 };
    const size_t l = i / 8;
    const unsigned index = b[2 + l] + ((unsigned)b[66 + l / 4] << (8 - 2 * (l % 4)) & 0x300);
    const unsigned scale = i / 16 % 2 ? b[74 + i / 32] >> 4 : b[74 + i / 32] & 15;
    const double d = f16_at(b) * (0.5 + scale) * 0.25;
    const int m = magnitude[qr_iq2_s_grid[index] >> (2 * (i % 8)) & 3];
    return d * (b[34 + l] & 1 << (i % 8) ? -m : m);
}

/* u8 q[32]; u8 qh[16]; u16 scales[4]. */
static double iq1_m_value(const uint8_t *b, size_t i)
{
    unsigned sc[4];
    for (int w = 0; w < 4; w++)
        sc[w] = b[48 + 2 * w] + 256u * b[49 + 2 * w];
    const double d =
        f16_value(sc[0] >> 12 | (sc[1] >> 8 & 0xf0) | (sc[2] >> 4 & 0xf00) | (sc[3] & 0xf000));
    const size_t l = i / 8;
    const unsigned h = l % 2 ? b[32 + l / 2] >> 4 : b[32 + l / 2] & 15;
    const unsigned s = sc[i / 64] >> (6 * (i / 32 % 2) + 3 * (i / 16 % 2)) & 7;
    const int t = (int)(qr_iq1_grid[b[l] + 256 * (h % 8)] >> (2 * (i % 8)) & 3) - 1;
    return d * (2 * s + 1) * (t + (h >= 8 ? -0.125 : 0.125));
}

/* u8 q[48], five digits each; u8 qh[4], four digits each; f16 d. */
static double tq1_0_value(const uint8_t *b, size_t i)
{
    static const unsigned power[5] = { 1, 3, 9, 27, 81 };
    size_t byte, digit;
    if (i < 160) {
        byte = i % 32;
        digit = i / 32;
    } else if (i < 240) {
        byte = 32 + (i - 160) % 16;
        digit = (i - 160) / 16;
    } else {
        byte = 48 + i % 4;
        digit = (i - 240) / 4;
    }
    const unsigned q = b[byte] * power[digit] % 256;
    return f16_at(b + 52) * ((double)(q * 3 / 256) - 1);
}

static double tq2_0_value(const uint8_t *b, size_t i)
{
    return f16_at(b + 64) * ((b[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3) - 1);
}

static double q1_0_value(const uint8_t *b, size_t i)
{
    return b[2 + i / 8] & 1 << (i % 8) ? f16_at(b) : -f16_at(b);
}

static double q2_0_value(const uint8_t *b, size_t i)
{
    return f16_at(b) * ((b[2 + i / 4] >> (2 * (i % 4)) & 3) - 1);
}

/* u8 d[4], u8 q[32]: 8 bytes per 16 values, low nibbles first. */
static double nvfp4_value(const uint8_t *b, size_t i)
{
    static const double e2m1[8] = { 0, .5, 1, 1.5, 2, 3, 4, 6 };
    const unsigned d = b[i / 16], e = d >> 3 & 15, m = d & 7;
    const unsigned both = b[4 + 8 * (i / 16) + i % 8], code = i % 16 < 8 ? both & 15 : both >> 4;
    const double scale = d == 0 || d == 0x7f ? 0 : e ? ldexp(1 + m / 8., (int)e - 7) : m / 512.;
    return scale * (code & 8 ? -e2m1[code & 7] : e2m1[code]);
}

static void random_blocks_by_definition(void **state)
{
    (void)state;
    compare_blocks(QR_WEIGHT_IQ2_S, iq2_s_value);
    compare_blocks(QR_WEIGHT_IQ1_M, iq1_m_value);
    compare_blocks(QR_WEIGHT_TQ1_0, tq1_0_value);
    compare_blocks(QR_WEIGHT_TQ2_0, tq2_0_value);
    compare_blocks(QR_WEIGHT_Q1_0, q1_0_value);
    compare_blocks(QR_WEIGHT_Q2_0, q2_0_value);
    compare_blocks(QR_WEIGHT_NVFP4, nvfp4_value);
}

/* One nonzero element in each field of the block. */
static void iq3_by_formula(void **state)
{
    (void)state;
    uint8_t block[110] = { 0 };
    float out[256];
    set_half(block, 0x3c00); /* 1 */
    block[2 + 8 + 1] = 255;  /* values 36 .. 39: last grid entry */
    block[66 + 4] = 1 << 5;  /* signs of values 32 .. 39: value 37 is negative, hence 39 too */
    block[66 + 7] = 0x70;    /* scale 7 of values 32 .. 63 */
    qr_weight_dequantize(QR_WEIGHT_IQ3_XXS, block, 256, out);
    const unsigned last = qr_iq3_xxs_grid[255];
    for (size_t i = 0; i < 256; i++) {
        const unsigned digit = i / 4 == 9 ? last >> (3 * (i % 4)) & 7 : 0;
        const float magnitude = digit == 7 ? 62 : 8 * (float)digit + 4,
                    scale = i / 32 == 1 ? 3.75f : 0.25f;
        assert_true(out[i] == (i == 37 || i == 39 ? -magnitude : magnitude) * scale);
    }
    memset(block + 2, 0, sizeof block - 2);
    block[2 + 8 + 1] = 255;
    block[66 + 1] = 1 << 1; /* values 36 .. 39: index 511 */
    block[74 + 4] = 1 << 5; /* value 37 is negative */
    block[106] = 0x70;      /* scale 15 of values 32 .. 63 */
    qr_weight_dequantize(QR_WEIGHT_IQ3_S, block, 256, out);
    for (size_t i = 0; i < 256; i++) {
        const unsigned digit = i / 4 == 9 ? qr_iq3_s_grid[511] >> (3 * (i % 4)) & 7 : 0;
        const float value = (2 * (float)digit + 1) * (i / 32 == 1 ? 15 : 1);
        assert_true(out[i] == (i == 37 ? -value : value));
    }
}

#ifdef QUIRE_WITH_TEXT
static void *read_tensor(const struct qr_safetensors *st, const char *prefix, const char *tensor,
                         uint64_t shape[2])
{
    char name[128];
    size_t i;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(name, sizeof name, "%s.%s", prefix, tensor);
    assert_true(qr_safetensors_find(st, name, &i));
    const struct qr_safetensor *t = qr_safetensors_tensor(st, i);
    void *data = malloc(t->bytes);
    assert_non_null(data);
    assert_status(QUIRE_OK, qr_safetensors_read_range(st, i, 0, t->bytes, data, &err));
    shape[0] = t->shape[0];
    shape[1] = t->shape[1];
    return data;
}

static void check_golden(enum qr_weight_type type, const char *file)
{
    static const char *const tensors[] = { "blk.0.attn_k.weight", "blk.1.ffn_down.weight" };
    char path[4200];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_safetensors *st;
    snprintf(path, sizeof path, "%s/goldens/%s.golden.safetensors", shared_dir(), file);
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &st, &err));
    for (size_t t = 0; t < 2; t++) {
        uint64_t raw_shape[2], shape[2];
        uint8_t *raw = read_tensor(st, "raw", tensors[t], raw_shape);
        float *want = read_tensor(st, "dequant", tensors[t], shape);
        const size_t n = (size_t)shape[0], k = (size_t)shape[1];
        struct qr_packed *w;
        float *got = malloc(k * sizeof *got);
        assert_non_null(got);
        assert_status(QUIRE_OK, qr_packed_create(type, n, k, NULL, &w, &err));
        assert_int_equal(w->row_bytes, raw_shape[1]);
        assert_status(QUIRE_OK, qr_packed_pack_rows(w, 0, n, raw, &err));
        for (size_t r = 0; r < n; r++) {
            qr_weight_dequantize(type, raw + r * raw_shape[1], k, got);
            for (size_t i = 0; i < k; i++) /* == because the sign of zero may differ */
                if (got[i] != want[r * k + i])
                    fail_msg("%s: row %zu value %zu: %.9g, not %.9g", file, r, i, (double)got[i],
                             (double)want[r * k + i]);
            qr_packed_unpack_row(w, r, got);
            for (size_t i = 0; i < k; i++)
                assert_true(got[i] == want[r * k + i]);
        }
        qr_packed_destroy(w);
        free(got);
        free(raw);
        free(want);
    }
    qr_safetensors_close(st);
}

static void values_match_goldens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_golden(QR_WEIGHT_Q4_0, "gguf/llama_h256-q4_0");
    check_golden(QR_WEIGHT_Q4_1, "gguf/llama_h256-q4_1");
    check_golden(QR_WEIGHT_Q5_0, "gguf/llama_h256-q5_0");
    check_golden(QR_WEIGHT_Q2_K, "gguf/llama_h256-q2_k");
    check_golden(QR_WEIGHT_Q3_K, "gguf/llama_h256-q3_k_s");
    check_golden(QR_WEIGHT_Q4_K, "gguf/llama_h256-q4_k_s");
    check_golden(QR_WEIGHT_Q5_K, "gguf/llama_h256-q5_k_s");
    check_golden(QR_WEIGHT_Q6_K, "gguf/llama_h256-q6_k");
    check_golden(QR_WEIGHT_IQ3_XXS, "gguf/llama_h256-iq3_xxs");
    check_golden(QR_WEIGHT_IQ4_NL, "gguf/llama_h256-iq4_nl");
    check_golden(QR_WEIGHT_IQ4_XS, "gguf/llama_h256-iq4_xs");
    check_golden(QR_WEIGHT_MXFP4, "gguf_2026/llama_h256-mxfp4");
    check_golden(QR_WEIGHT_NVFP4, "gguf_2026/llama_h256-nvfp4");
    check_golden(QR_WEIGHT_IQ1_S, "gguf_2026/llama_h256-iq1_s");
    check_golden(QR_WEIGHT_IQ2_XXS, "gguf_2026/llama_h256-iq2_xxs");
    check_golden(QR_WEIGHT_IQ2_XS, "gguf_2026/llama_h256-iq2_xs");
    check_golden(QR_WEIGHT_TQ2_0, "gguf_2026/llama_h256-tq2_0");
    check_golden(QR_WEIGHT_Q1_0, "gguf_2026/llama_h256-q1_0");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_types_by_formula), cmocka_unit_test(q5_1_by_formula),
        cmocka_unit_test(mxfp4_by_formula),       cmocka_unit_test(grids_match_the_format),
        cmocka_unit_test(iq3_by_formula),         cmocka_unit_test(random_blocks_by_definition),
#ifdef QUIRE_WITH_TEXT
        cmocka_unit_test(values_match_goldens),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
