/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_convert.c - quantize and dequantize kernels: reference tables, values, ISA levels,
 * floating-point modes. */
#include "kernels/dispatch.h"
#include "quire_cmocka.h"
#include <fenv.h>
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum format { BF16, F16, E4M3, E5M2, N_FORMATS };
static const char *const NAMES[] = { "bf16", "f16", "e4m3", "e5m2" };

static size_t narrow(const struct qr_kernels *k, enum format f, uint16_t *out, const float *x,
                     float scale, size_t n)
{
    uint8_t bytes[4096];
    size_t clipped = 0;
    if (f == BF16)
        return k->quantize_bf16(out, x, scale, n);
    if (f == F16)
        return k->quantize_f16(out, x, scale, n);
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < sizeof bytes ? n - i : sizeof bytes;
        clipped += f == E4M3 ? k->quantize_fp8_e4m3(bytes, x + i, scale, m)
                             : k->quantize_fp8_e5m2(bytes, x + i, scale, m);
        for (size_t j = 0; j < m; j++)
            out[i + j] = bytes[j];
    }
    return clipped;
}

static void widen(const struct qr_kernels *k, enum format f, float *out, const uint16_t *codes,
                  float scale, size_t n)
{
    if (f == BF16)
        k->dequantize_bf16(out, codes, scale, n);
    else if (f == F16)
        k->dequantize_f16(out, codes, scale, n);
    else
        for (size_t i = 0; i < n; i++) {
            const uint8_t c = (uint8_t)codes[i];
            if (f == E4M3)
                k->dequantize_fp8_e4m3(out + i, &c, scale, 1);
            else
                k->dequantize_fp8_e5m2(out + i, &c, scale, 1);
        }
}

static uint16_t narrow1(const struct qr_kernels *k, enum format f, float x)
{
    uint16_t out;
    narrow(k, f, &out, &x, 1, 1);
    return out;
}

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static float from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* Value of a code by its definition, in double; positive codes only. */
static double value_of(enum format f, unsigned code)
{
    static const int exp_bits[] = { 8, 5, 4, 5 }, man_bits[] = { 7, 10, 3, 2 };
    const int m = man_bits[f], bias = (1 << (exp_bits[f] - 1)) - 1;
    const unsigned man = code & ((1u << m) - 1), exp = code >> m;
    return exp ? ldexp(man + (1u << m), (int)exp - bias - m) : ldexp(man, 1 - bias - m);
}

static unsigned max_finite_code(enum format f)
{
    static const unsigned largest[] = { 0x7f7f, 0x7bff, 0x7e, 0x7b };
    return largest[f];
}

static unsigned sign_bit(enum format f) { return f == BF16 || f == F16 ? 0x8000 : 0x80; }

/* ---- Reference tables */

/* The integers of the array `key` inside the object `section`. */
static size_t integers(const char *text, const char *section, const char *key, uint32_t *out,
                       size_t max)
{
    char name[64];
    snprintf(name, sizeof name, "\"%s\"", section);
    const char *p = strstr(text, name);
    snprintf(name, sizeof name, "\"%s\":", key);
    p = p ? strstr(p, name) : NULL;
    p = p ? strchr(p, '[') : NULL;
    assert_non_null(p);
    size_t n = 0;
    for (p++;; p++) {
        p += strspn(p, " \n,");
        if (*p == ']')
            return n;
        assert_true(n < max);
        char *end;
        out[n++] = (uint32_t)strtoull(p, &end, 10);
        assert_ptr_not_equal(end, p);
        p = end - 1;
    }
}

static char *read_tables(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/goldens/fp8_tables.json", shared_dir());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void reference_tables(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char *text = read_tables();
    static uint32_t in[4096], want[4096];
    static const char *const encode[] = { "bf16", "f16", "e4m3fn_sat", "e5m2_sat" };
    static const char *const decode[] = { "", "", "e4m3fn", "e5m2" };
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k)
            continue;
        const size_t n = integers(text, "encode", "f32_bits", in, 4096);
        assert_int_equal(n, 1982);
        for (enum format f = BF16; f < N_FORMATS; f++) {
            assert_int_equal(integers(strstr(text, "\"encode\""), "encode", encode[f], want, 4096),
                             n);
            for (size_t j = 0; j < n; j++)
                if (narrow1(k, f, from_bits(in[j])) != want[j])
                    fail_msg("%s %s: 0x%08x gives 0x%x, not 0x%x", k->level, NAMES[f], in[j],
                             narrow1(k, f, from_bits(in[j])), want[j]);
        }
        for (enum format f = E4M3; f <= E5M2; f++) {
            const char *at = strstr(strstr(text, "\"decode\""), decode[f]) - 1;
            assert_int_equal(integers(at, decode[f], "f32_bits", want, 4096), 256);
            for (uint16_t c = 0; c < 256; c++) {
                float x;
                widen(k, f, &x, &c, 1, 1);
                assert_int_equal(bits(x), want[c]);
            }
        }
    }
    free(text);
}

/* ---- Values */

static void every_code_round_trips(void **state)
{
    (void)state;
    const struct qr_kernels *k = qr_level_table(0);
    for (enum format f = BF16; f < N_FORMATS; f++)
        for (unsigned c = 0; c <= max_finite_code(f); c++) {
            const uint16_t both[] = { (uint16_t)c, (uint16_t)(c | sign_bit(f)) };
            float x[2];
            widen(k, f, x, both, 1, 2);
            assert_true(x[0] == value_of(f, c) && x[1] == -value_of(f, c));
            assert_int_equal(narrow1(k, f, x[0]), both[0]);
            assert_int_equal(narrow1(k, f, x[1]), both[1]);
        }
}

/* A midpoint of two codes rounds to the even one, its f32 neighbors to the nearer one. */
static void midpoints(void **state)
{
    (void)state;
    const struct qr_kernels *k = qr_level_table(0);
    for (enum format f = BF16; f < N_FORMATS; f++)
        for (unsigned c = 0; c < max_finite_code(f); c++) {
            const float mid = (float)((value_of(f, c) + value_of(f, c + 1)) / 2);
            assert_true(mid == (value_of(f, c) + value_of(f, c + 1)) / 2);
            const unsigned even = c & 1 ? c + 1 : c;
            assert_int_equal(narrow1(k, f, mid), even);
            assert_int_equal(narrow1(k, f, from_bits(bits(mid) - 1)), c);
            assert_int_equal(narrow1(k, f, from_bits(bits(mid) + 1)), c + 1);
            assert_int_equal(narrow1(k, f, -mid), even | sign_bit(f));
        }
}

/* All bf16 inputs against the nearest code, found by search. */
static void every_bf16_input(void **state)
{
    (void)state;
    const struct qr_kernels *k = qr_level_table(0);
    for (enum format f = F16; f < N_FORMATS; f++) {
        unsigned c = 0; /* increases with the input */
        for (uint32_t u = 0; u < 0x7f80; u++) {
            const double x = from_bits(u << 16);
            while (c < max_finite_code(f) && (value_of(f, c) + value_of(f, c + 1)) / 2 < x)
                c++;
            unsigned want = c;
            if (c < max_finite_code(f) && (value_of(f, c) + value_of(f, c + 1)) / 2 == x && c & 1)
                want++;
            const double limit =
                value_of(F16, 0x7bff) + 16; /* half a step above the largest finite f16 */
            if (f == F16 && x >= limit)
                want = 0x7c00;
            assert_int_equal(narrow1(k, f, (float)x), want);
            assert_int_equal(narrow1(k, f, (float)-x), want | sign_bit(f));
        }
    }
}

static void beyond_max_finite(void **state)
{
    (void)state;
    const float x[] = { 448,       463.99f, 464.01f, 480,       -1e10f, INFINITY,
                        -INFINITY, NAN,     65504,   65519.99f, 65520,  3.4e38f };
    enum { N = sizeof x / sizeof x[0] };
    uint16_t out[N];
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k)
            continue;
        assert_int_equal(narrow(k, E4M3, out, x, 1, N), N - 3);
        assert_int_equal(out[2], 0x7e);
        assert_int_equal(out[4], 0xfe);
        assert_int_equal(out[5], 0x7e);
        assert_int_equal(out[7], 0x7f);
        assert_int_equal(narrow(k, E5M2, out, x, 1, N), 4 + 3);
        assert_int_equal(out[6], 0xfb);
        assert_int_equal(narrow(k, F16, out, x, 1, N), 5);
        assert_int_equal(out[5], 0x7c00);
        assert_int_equal(out[9], 0x7bff);
        assert_int_equal(out[10], 0x7c00);
        assert_int_equal(narrow(k, BF16, out, x, 1, N), 3);
        assert_int_equal(out[7], 0xffff);
    }
}

/* ---- ISA levels */

static uint64_t rng = 1;
static uint32_t random32(void)
{
    uint64_t z = rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 16);
}

static void fill_inputs(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = random32();
        switch (random32() % 4) {
        case 0: /* any exponent, NaN and denormals included */
            break;
        case 1: /* around the fp8 and f16 ranges */
            u = (u & 0x807fffff) | (95 + random32() % 50) << 23;
            break;
        case 2: /* many exact ties */
            u = (u & 0xfff00000) | (random32() & 1) << 19;
            break;
        default:
            u = (u & 0x80000000) | (random32() % 3 ? 0x7f800000 : random32() % 64);
        }
        x[i] = from_bits(u);
    }
}

static void levels_agree_on(const struct qr_kernels *k, const float *x, size_t n, float scale)
{
    static uint16_t want[1 << 16], got[1 << 16];
    static float want_f[1 << 16], got_f[1 << 16];
    const struct qr_kernels *g = qr_level_table(0);
    for (enum format f = BF16; f < N_FORMATS; f++) {
        memset(got, 0xa5, sizeof got);
        const size_t clipped = narrow(g, f, want, x, scale, n);
        assert_int_equal(narrow(k, f, got, x, scale, n), clipped);
        for (size_t i = 0; i < n; i++)
            if (want[i] != got[i])
                fail_msg("%s %s: 0x%08x / %g gives 0x%x, not 0x%x", k->level, NAMES[f], bits(x[i]),
                         (double)scale, got[i], want[i]);
        if (n < 1 << 16)
            assert_int_equal(got[n], 0xa5a5);
        widen(g, f, want_f, want, scale, n);
        widen(k, f, got_f, want, scale, n);
        assert_memory_equal(got_f, want_f, n * sizeof(float));
    }
}

static void every_level_equals_generic(void **state)
{
    (void)state;
    static float x[1 << 16];
    static uint16_t codes[1 << 16];
    static float want[1 << 16], got[1 << 16];
    const struct qr_kernels *g = qr_level_table(0);
    for (int i = 1; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k) {
            printf("skipped: this CPU lacks %s\n", qr_level_name(i));
            continue;
        }
        for (int round = 0; round < 8; round++) {
            fill_inputs(x, 1 << 16);
            levels_agree_on(k, x, 1 << 16, 1);
            levels_agree_on(k, x, 1 << 16, round % 2 ? 0.0137f : 3.5f);
        }
        for (size_t n = 0; n < 70; n++)
            levels_agree_on(k, x + n, n, 1);
        for (uint32_t c = 0; c < 1 << 16; c++)
            codes[c] = (uint16_t)c;
        for (enum format f = BF16; f < N_FORMATS; f++) {
            widen(g, f, want, codes, 1, 1 << 16);
            widen(k, f, got, codes, 1, 1 << 16);
            assert_memory_equal(got, want, sizeof want);
        }
    }
}

/* With scale 1 the arithmetic is on integers, independent of the host's rounding mode and denormal
 * flags. */
static void independent_of_floating_point_modes(void **state)
{
    (void)state;
    static float x[1 << 14];
    static uint16_t want[1 << 14], got[1 << 14];
    static float want_f[1 << 14], got_f[1 << 14];
    static const int modes[] = { FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST };
    fill_inputs(x, 1 << 14);
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        for (enum format f = BF16; k && f < N_FORMATS; f++) {
            narrow(k, f, want, x, 1, 1 << 14);
            widen(k, f, want_f, want, 1, 1 << 14);
            for (size_t m = 0; m < 4; m++) {
                fenv_t saved;
                fegetenv(&saved);
                fesetround(modes[m]);
#if defined(__x86_64__)
                _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ, DAZ */
#endif
                narrow(k, f, got, x, 1, 1 << 14);
                widen(k, f, got_f, want, 1, 1 << 14);
                fesetenv(&saved);
                assert_memory_equal(got, want, sizeof want);
                assert_memory_equal(got_f, want_f, sizeof want_f);
            }
        }
    }
}

/* x / scale is one correctly rounded division, as frameworks compute it, not a product with 1 /
 * scale. */
static void scale_divides(void **state)
{
    (void)state;
    size_t differ = 0;
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k)
            continue;
        for (int j = 0; j < 20000; j++) {
            /* near a midpoint of two codes, where the last bit of the quotient decides */
            const unsigned c = random32() % 0x7e;
            const float scale = 0.003f + (float)(random32() % 1000) * 0.0017f;
            const float x = (float)((value_of(E4M3, c) + value_of(E4M3, c + 1)) / 2) * scale;
            float y;
            uint16_t got, product;
            narrow(k, E4M3, &got, &x, scale, 1);
            assert_int_equal(got, narrow1(k, E4M3, x / scale));
            y = x * (1 / scale);
            product = narrow1(k, E4M3, y);
            differ += product != got;
            widen(k, E4M3, &y, &got, scale, 1);
            float plain;
            widen(k, E4M3, &plain, &got, 1, 1);
            assert_true(y == plain * scale);
        }
    }
    assert_true(differ > 0); /* else the test has no power */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_tables),
        cmocka_unit_test(every_code_round_trips),
        cmocka_unit_test(midpoints),
        cmocka_unit_test(every_bf16_input),
        cmocka_unit_test(beyond_max_finite),
        cmocka_unit_test(every_level_equals_generic),
        cmocka_unit_test(independent_of_floating_point_modes),
        cmocka_unit_test(scale_divides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
