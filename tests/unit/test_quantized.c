/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized.c - rows of quantized matrices are bit for bit what the methods define. */
#include "test_quantized.h"

enum { ROWS = 24, COLS = 256, GROUP = 64, GROUPS = COLS / GROUP };

/* What a matrix was made of. */
static int code[ROWS][COLS];
static int zero[ROWS][COLS];      /* by column */
static float scale[ROWS][COLS];   /* by column */
static double number[ROWS][COLS]; /* of a code, without zero point */
static float matrix_scale = 1;    /* beside the rows */

/* Compares all rows, read at once, one by one and in halves, with scale * (number - zero) in double
 * rounded to f32. */
static void check(const struct qr_quantization_config *config, const char *name, uint32_t type)
{
    struct qr_weights w;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_source_tensor t;
    size_t i, row_bytes;
    const quire_status s = open_stored(config, &w, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(qr_weights_source_count(&w), 1);
    assert_true(qr_weights_source_find(&w, name, &i));
    qr_weights_source_tensor(&w, i, &t);
    assert_int_equal(t.type, type);
    assert_true(matrix_scale == 1 ? !t.scales : t.n_scales == 1 && t.scales[0] == matrix_scale);
    const uint64_t experts = t.n_dims == 3 ? t.dims[2] : 1;
    assert_true(t.dims[0] == COLS && t.dims[1] * experts == ROWS);
    assert_true(qr_weight_row_bytes(type, COLS, &row_bytes) && t.bytes == ROWS * row_bytes);
    uint8_t *all = malloc(t.bytes), *part = malloc(t.bytes);
    assert_status(QUIRE_OK, qr_weights_read_source(&w, i, 0, t.bytes, all, &err));
    for (size_t r = 0; r < ROWS; r++)
        assert_status(QUIRE_OK, qr_weights_read_source(&w, i, r * row_bytes, row_bytes,
                                                       part + r * row_bytes, &err));
    assert_memory_equal(all, part, t.bytes);
    const size_t at = 2 * row_bytes + 7;
    assert_status(QUIRE_OK, qr_weights_read_source(&w, i, at, 3 * row_bytes, part, &err));
    assert_memory_equal(all + at, part, 3 * row_bytes);
    assert_status(QUIRE_E_RANGE, qr_weights_read_source(&w, i, 1, t.bytes, part, &err));
    for (size_t r = 0; r < ROWS; r++) {
        float got[COLS];
        qr_weight_dequantize(type, all + r * row_bytes, COLS, got);
        for (size_t k = 0; k < COLS; k++) {
            const size_t c = t.order ? t.order[k] : k;
            const float want = (float)((double)scale[r][c] * (number[r][c] - zero[r][c]));
            if (memcmp(&want, &got[k], sizeof want) != 0 && !(want == 0 && got[k] == 0))
                fail_msg("%s: row %zu, column %zu is %a, not %a", name, r, c, (double)got[k],
                         (double)want);
        }
    }
    free(all);
    free(part);
    close_stored(&w);
    forget_stored();
}

/* Draws codes of `bits` bits, and scales that f16 and bf16 can hold, by group of each column. */
static void draw_matrix(int bits, size_t group, const int *group_of)
{
    for (size_t r = 0; r < ROWS; r++) {
        float s[COLS];
        int z[COLS];
        for (size_t g = 0; g < COLS / group; g++) {
            s[g] = ldexpf((float)(128 + draw(128)), -13 - (int)draw(3));
            z[g] = 1 + (int)draw((1u << bits) - 1);
        }
        for (size_t k = 0; k < COLS; k++) {
            const size_t g = group_of ? (size_t)group_of[k] : k / group;
            code[r][k] = (int)draw(1u << bits);
            number[r][k] = code[r][k];
            scale[r][k] = s[g];
            zero[r][k] = z[g];
        }
    }
}

static uint16_t half_of(float f)
{
    uint16_t h = 0;
    while (qr_f16_to_f32(h) != f)
        assert_true(++h != 0);
    return h;
}

static void put_code(uint32_t *words, size_t i, unsigned shift, int value)
{
    words[i] |= (uint32_t)value << shift;
}

/* ---- GPTQ and AWQ */

static void store_gptq(int bits, size_t group, const int *group_of, int minus)
{
    const size_t per = 32 / (size_t)bits;
    draw_matrix(bits, group, group_of);
    uint32_t *q = store("a.qweight", "I32", COLS / per, ROWS, 0, 0),
             *z = store("a.qzeros", "I32", COLS / group, ROWS / per, 0, 0);
    uint16_t *s = store("a.scales", "F16", COLS / group, ROWS, 0, 0);
    int32_t *g_idx = store("a.g_idx", "I32", COLS, 0, 0, 0);
    for (size_t k = 0; k < COLS; k++) {
        const size_t g = group_of ? (size_t)group_of[k] : k / group;
        g_idx[k] = (int32_t)g;
        for (size_t r = 0; r < ROWS; r++) {
            put_code(q, k / per * ROWS + r, (unsigned)(k % per) * (unsigned)bits, code[r][k]);
            s[g * ROWS + r] = half_of(scale[r][k]);
            z[g * (ROWS / per) + r / per] &= ~(((1u << bits) - 1) << (r % per * (unsigned)bits));
            put_code(z, g * (ROWS / per) + r / per, (unsigned)(r % per) * (unsigned)bits,
                     zero[r][k] - minus);
        }
    }
}

static void gptq(void **state)
{
    (void)state;
    static const struct {
        int bits;
        uint32_t group, type;
    } cases[] = {
        { 4, 32, QR_WEIGHT_INT4_32 },   { 4, 64, QR_WEIGHT_INT4_64 },
        { 4, 128, QR_WEIGHT_INT4_128 }, { 4, 256, QR_WEIGHT_INT4_128 },
        { 8, 32, QR_WEIGHT_INT8_32 },   { 8, 128, QR_WEIGHT_INT8_128 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int minus = 0; minus < 2; minus++)
            for (int shuffled = 0; shuffled < 2; shuffled++) {
                int group_of[COLS];
                for (size_t k = 0; k < COLS; k++)
                    group_of[k] = (int)(k / cases[i].group);
                for (size_t k = COLS - 1; shuffled && k > 0; k--) {
                    const size_t j = draw((uint32_t)k + 1);
                    const int g = group_of[k];
                    group_of[k] = group_of[j];
                    group_of[j] = g;
                }
                const struct qr_quantization_config config = {
                    .method = QR_QUANTIZATION_GPTQ,
                    .bits = (uint32_t)cases[i].bits,
                    .group = cases[i].group == COLS ? 0 : cases[i].group,
                    .zero_minus_one = minus,
                };
                store_gptq(cases[i].bits, cases[i].group, group_of, minus);
                check(&config, "a.weight", cases[i].type);
            }
}

/* Bits and groups that the shapes tell, whatever the configuration says. */
static void mixed(void **state)
{
    (void)state;
    const struct qr_quantization_config gptq_config = {
        .method = QR_QUANTIZATION_GPTQ, .bits = 4, .group = 128, .mixed = true
    };
    store_gptq(4, 64, NULL, 0);
    check(&gptq_config, "a.weight", QR_WEIGHT_INT4_64);
    store_gptq(8, 128, NULL, 0);
    check(&gptq_config, "a.weight", QR_WEIGHT_INT8_128);
}

static void awq(void **state)
{
    (void)state;
    static const unsigned place[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
    draw_matrix(4, GROUP, NULL);
    uint32_t *q = store("a.qweight", "I32", COLS, ROWS / 8, 0, 0),
             *z = store("a.qzeros", "I32", GROUPS, ROWS / 8, 0, 0);
    uint16_t *s = store("a.scales", "F16", GROUPS, ROWS, 0, 0);
    for (size_t k = 0; k < COLS; k++)
        for (size_t r = 0; r < ROWS; r++) {
            put_code(q, k * (ROWS / 8) + r / 8, 4 * place[r % 8], code[r][k]);
            if (k % GROUP == 0)
                put_code(z, k / GROUP * (ROWS / 8) + r / 8, 4 * place[r % 8], zero[r][k]);
            s[k / GROUP * ROWS + r] = half_of(scale[r][k]);
        }
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_AWQ,
                                                   .bits = 4,
                                                   .group = GROUP };
    check(&config, "a.weight", QR_WEIGHT_INT4_64);
}

/* ---- compressed-tensors */

static void store_packed(int bits, bool with_zeros)
{
    const size_t per = 32 / (size_t)bits;
    draw_matrix(bits, GROUP, NULL);
    uint32_t *q = store("a.weight_packed", "I32", ROWS, COLS / per, 0, 0);
    uint16_t *s = store("a.weight_scale", "BF16", ROWS, GROUPS, 0, 0);
    int64_t *shape = store("a.weight_shape", "I64", 2, 0, 0, 0);
    uint32_t *z = with_zeros ? store("a.weight_zero_point", "I32", ROWS / per, GROUPS, 0, 0) : NULL;
    shape[0] = ROWS;
    shape[1] = COLS;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < COLS; k++) {
            uint32_t f;
            memcpy(&f, &scale[r][k], sizeof f);
            s[r * GROUPS + k / GROUP] = (uint16_t)(f >> 16);
            put_code(q, (r * COLS + k) / per, (unsigned)(k % per) * (unsigned)bits, code[r][k]);
            if (!z)
                zero[r][k] = 1 << (bits - 1);
            else if (k % GROUP == 0)
                put_code(z, r / per * GROUPS + k / GROUP, (unsigned)(r % per) * (unsigned)bits,
                         zero[r][k]);
        }
}

static void packed(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_COMPRESSED };
    for (int with_zeros = 0; with_zeros < 2; with_zeros++) {
        store_packed(4, with_zeros);
        check(&config, "a.weight", QR_WEIGHT_INT4_64);
        store_packed(8, with_zeros);
        check(&config, "a.weight", QR_WEIGHT_INT8_32);
    }
}

static void int8(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_COMPRESSED };
    draw_matrix(8, COLS, NULL);
    int8_t *q = store("a.weight", "I8", ROWS, COLS, 0, 0),
           *z = store("a.weight_zero_point", "I8", ROWS, 1, 0, 0);
    float *s = store("a.weight_scale", "F32", ROWS, 1, 0, 0);
    for (size_t r = 0; r < ROWS; r++) {
        s[r] = scale[r][0];
        z[r] = (int8_t)(zero[r][0] - 128);
        for (size_t k = 0; k < COLS; k++)
            q[r * COLS + k] = (int8_t)(code[r][k] - 128);
    }
    check(&config, "a.weight", QR_WEIGHT_INT8_128);
}

/* ---- Floating-point codes */

static void set_float(size_t r, size_t k, float s, double value)
{
    scale[r][k] = s;
    zero[r][k] = 0;
    number[r][k] = value;
}

/* Scales of 24 bits: products round to f32 once. */
static float odd_scale(void) { return (float)(1 + draw(1u << 24)) * 0x1p-30f; }

static void fp8(void **state)
{
    (void)state;
    enum { HIGH = 7, WIDE = 96, ACROSS = (COLS + WIDE - 1) / WIDE };
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_FP8,
                                                   .block_rows = HIGH,
                                                   .block_columns = WIDE };
    uint8_t *q = store("a.weight", "F8_E4M3", ROWS, COLS, 0, 0);
    float *s = store("a.weight_scale_inv", "F32", (ROWS + HIGH - 1) / HIGH, ACROSS, 0, 0);
    for (size_t i = 0; i < (ROWS + HIGH - 1) / HIGH * ACROSS; i++)
        s[i] = odd_scale();
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < COLS; k++) {
            uint8_t c = (uint8_t)draw(256);
            c = (c & 127) == 127 ? 0 : c;
            const int e = c >> 3 & 15, m = c & 7;
            const double v = ldexp(e ? 8 + m : m, (e ? e : 1) - 10);
            q[r * COLS + k] = c;
            set_float(r, k, s[r / HIGH * ACROSS + k / WIDE], c & 128 ? -v : v);
        }
    check(&config, "a.weight", QR_WEIGHT_F8_E4M3_32);
}

static const double e2m1[16] = { 0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6 };

static void mxfp4(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_MXFP4 };
    uint8_t *q = store("a_blocks", "U8", 3, ROWS / 3, COLS / 32, 16),
            *s = store("a_scales", "U8", 3, ROWS / 3, COLS / 32, 0);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < COLS; k++) {
            const size_t i = r * COLS + k;
            const unsigned c = draw(16);
            if (k % 32 == 0)
                s[i / 32] = (uint8_t)(100 + draw(50));
            q[i / 2] |= (uint8_t)(c << (k % 2 ? 4 : 0));
            set_float(r, k, ldexpf(1, s[i / 32] - 127), e2m1[c]);
        }
    check(&config, "a_blocks", QR_WEIGHT_MXFP4);
}

static void nvfp4(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        const struct qr_quantization_config config = { .method = packed
                                                                     ? QR_QUANTIZATION_COMPRESSED
                                                                     : QR_QUANTIZATION_MODELOPT };
        uint8_t *q = store(packed ? "a.weight_packed" : "a.weight", "U8", ROWS, COLS / 2, 0, 0),
                *s = store("a.weight_scale", "F8_E4M3", ROWS, COLS / 16, 0, 0);
        float *f = store(packed ? "a.weight_global_scale" : "a.weight_scale_2", "F32", 1, 0, 0, 0);
        *f = packed ? 3 : odd_scale();
        matrix_scale = packed ? 1.0f / 3 : *f;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t k = 0; k < COLS; k++) {
                const size_t i = r * COLS + k;
                const unsigned c = draw(16);
                if (k % 16 == 0)
                    s[i / 16] = (uint8_t)draw(127);
                q[i / 2] |= (uint8_t)(c << (k % 2 ? 4 : 0));
                set_float(r, k, qr_e4m3_to_f32(s[i / 16]), e2m1[c]);
            }
        check(&config, "a.weight", QR_WEIGHT_NVFP4);
        matrix_scale = 1;
    }
}

static void packed_mxfp4(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_COMPRESSED };
    uint8_t *q = store("a.weight_packed", "U8", ROWS, COLS / 2, 0, 0),
            *s = store("a.weight_scale", "U8", ROWS, COLS / 32, 0, 0);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < COLS; k++) {
            const size_t i = r * COLS + k;
            const unsigned c = draw(16);
            if (k % 32 == 0)
                s[i / 32] = (uint8_t)(100 + draw(50));
            q[i / 2] |= (uint8_t)(c << (k % 2 ? 4 : 0));
            set_float(r, k, ldexpf(1, s[i / 32] - 127), e2m1[c]);
        }
    check(&config, "a.weight", QR_WEIGHT_MXFP4);
}

static const float nf4_values[16] = { QR_NF4_VALUES };

static void store_nf4(bool nested)
{
    enum { BLOCK = 128, N = ROWS * COLS / BLOCK, INNER = 32 };
    char text[300];
    snprintf(text, sizeof text, "{\"quant_type\":\"nf4\",\"blocksize\":%d,\"shape\":[%d,%d]%s}",
             BLOCK, ROWS, COLS, nested ? ",\"nested_blocksize\":32,\"nested_offset\":0.0625" : "");
    memcpy(store("a.weight.quant_state.bitsandbytes__nf4", "U8", strlen(text), 0, 0, 0), text,
           strlen(text));
    uint8_t *q = store("a.weight", "U8", ROWS * COLS / 2, 1, 0, 0);
    memcpy(store("a.weight.quant_map", "F32", 16, 0, 0, 0), nf4_values, sizeof nf4_values);
    float s[N];
    void *absmax = store("a.weight.absmax", nested ? "U8" : "F32", N, 0, 0, 0);
    float *map = nested ? store("a.weight.nested_quant_map", "F32", 256, 0, 0, 0) : NULL,
          *outer = nested ? store("a.weight.nested_absmax", "F32", (N + 31) / 32, 0, 0, 0) : NULL;
    for (size_t i = 0; nested && i < 256; i++)
        map[i] = odd_scale();
    for (size_t i = 0; nested && i < (N + 31) / 32; i++)
        outer[i] = odd_scale();
    for (size_t i = 0; i < N; i++) {
        s[i] = odd_scale();
        if (nested) {
            const uint8_t c = ((uint8_t *)absmax)[i] = (uint8_t)draw(256);
            const float product = map[c] * outer[i / INNER];
            s[i] = product + 0.0625f;
        } else {
            ((float *)absmax)[i] = s[i];
        }
    }
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const unsigned c = draw(16);
        q[i / 2] |= (uint8_t)(c << (i % 2 ? 0 : 4));
        set_float(i / COLS, i % COLS, s[i / BLOCK], (double)nf4_values[c]);
    }
}

static void nf4(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_NF4 };
    for (int nested = 0; nested < 2; nested++) {
        store_nf4(nested);
        check(&config, "a.weight", QR_WEIGHT_NF4_64);
    }
}

static void llm_int8(void **state)
{
    (void)state;
    const struct qr_quantization_config config = { .method = QR_QUANTIZATION_LLM_INT8 };
    int8_t *q = store("a.weight", "I8", ROWS, COLS, 0, 0);
    float *s = store("a.SCB", "F32", ROWS, 0, 0, 0);
    for (size_t r = 0; r < ROWS; r++) {
        s[r] = odd_scale();
        for (size_t k = 0; k < COLS; k++) {
            q[r * COLS + k] = (int8_t)((int)draw(255) - 127);
            set_float(r, k, s[r] / 127, q[r * COLS + k]);
        }
    }
    check(&config, "a.weight", QR_WEIGHT_INT8_128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gptq),   cmocka_unit_test(mixed),    cmocka_unit_test(awq),
        cmocka_unit_test(packed), cmocka_unit_test(int8),     cmocka_unit_test(fp8),
        cmocka_unit_test(mxfp4),  cmocka_unit_test(nvfp4),    cmocka_unit_test(packed_mxfp4),
        cmocka_unit_test(nf4),    cmocka_unit_test(llm_int8),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
