/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_types.c - query and output types: the bits of rounded f32 queries and outputs. */
#include "test_attn_oracle.h"
#include "test_plan.h"

/* ---- types by their definitions */

struct format {
    size_t bytes;
    int mantissa, bias; /* bits */
    uint32_t max;       /* code of the largest finite value */
};
static const struct format formats[] = {
    [QUIRE_KV_F32] = { 4, 23, 127, 0x7f7fffff }, [QUIRE_KV_BF16] = { 2, 7, 127, 0x7f7f },
    [QUIRE_KV_F16] = { 2, 10, 15, 0x7bff },      [QUIRE_KV_FP8_E4M3] = { 1, 3, 7, 0x7e },
    [QUIRE_KV_FP8_E5M2] = { 1, 2, 15, 0x7b },    [QUIRE_KV_INT8] = { .bytes = 1 },
};

static double decode(const struct format *f, uint32_t code)
{
    const uint32_t sign = 1u << (f->bytes * 8 - 1), magnitude = code & (sign - 1);
    const int e = (int)(magnitude >> f->mantissa);
    const double m = (double)(magnitude & ((1u << f->mantissa) - 1)), one = 1 << f->mantissa;
    const double x = e ? ldexp(1 + m / one, e - f->bias) : ldexp(m / one, 1 - f->bias);
    return code & sign ? -x : x;
}

/* Nearest code, ties to even, saturating. */
static uint32_t encode(const struct format *f, double x)
{
    const double a = fabs(x);
    uint32_t lo = 0, hi = f->max + 1;
    while (hi - lo > 1) { /* codes are monotonic in their values */
        const uint32_t mid = lo + (hi - lo) / 2;
        if (decode(f, mid) <= a)
            lo = mid;
        else
            hi = mid;
    }
    if (lo < f->max) {
        const double below = a - decode(f, lo), above = decode(f, lo + 1) - a;
        lo += above < below || (above == below && lo & 1);
    }
    return signbit(x) ? lo | 1u << (f->bytes * 8 - 1) : lo;
}

static int8_t encode_int8(double x)
{
    if (isnan(x))
        return 0;
    const double down = floor(x), part = x - down;
    const double n = down + (part > 0.5 || (part == 0.5 && fmod(down, 2) != 0));
    return (int8_t)(n > 127 ? 127 : n < -127 ? -127 : n);
}

static void put(void *at, size_t bytes, uint32_t code)
{
    memcpy(at, &code, bytes); /* little-endian, as all levels are */
}

/* ---- runs */

struct typed {
    enum quire_kv_dtype q_dtype, out_dtype;
    const void *q;
    const float *q_scale;
    float out_scale;
};

/* Runs all rows of a problem into contiguous outputs. Rows are misaligned; the bytes after them
 * must stay unchanged. */
static void run_typed(const struct problem *s, const struct typed *t, void *out, float *lse)
{
    const struct quire_attention_config *c = &s->config;
    const size_t h = c->n_heads, q_bytes = formats[t->q_dtype].bytes,
                 bytes = formats[t->out_dtype].bytes, dv = problem_v_size(s), n = s->n_rows,
                 row = h * dv + 3;
    const struct variant r = variant_whole(s);
    struct testbed st;
    testbed_open(&st, s, &r);
    unsigned char *q = malloc(n * h * c->head_size * q_bytes + 1);
    unsigned char *strided = malloc(n * row * bytes + 1);
    memset(strided, 0xa5, n * row * bytes + 1);
    memcpy(q + 1, t->q, n * h * c->head_size * q_bytes);
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = q + 1,
                                               .q_dtype = t->q_dtype,
                                               .q_scale = t->q_scale,
                                               .out = strided + 1,
                                               .out_token_stride = row,
                                               .out_dtype = t->out_dtype,
                                               .out_scale = t->out_scale,
                                               .lse = lse };
    must(quire_attention_forward(st.plan, &args, NULL, &err));
    for (size_t i = 0; i < n; i++) {
        memcpy((unsigned char *)out + i * h * dv * bytes, strided + 1 + i * row * bytes,
               h * dv * bytes);
        for (size_t j = h * dv * bytes; j < row * bytes; j++)
            assert_true(strided[1 + i * row * bytes + j] == 0xa5);
    }
    free(q), free(strided);
    testbed_close(&st);
}

static struct problem new_scene(enum quire_kv_dtype dtype, enum quire_compute compute,
                                uint32_t size)
{
    static const uint32_t lens[] = { 40, 3 };
    struct problem s = { .k_dtype = dtype, .v_dtype = dtype, .k_scale = 1, .v_scale = 1 };
    quire_attention_config_init(&s.config, sizeof s.config, 6, 2, size);
    s.config.compute = compute;
    problem_fill(&s, lens, 2);
    return s;
}

static const enum quire_kv_dtype caches[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16,
                                              QUIRE_KV_FP8_E4M3 };

/* ---- tests */

static void queries_of_every_float(void **state)
{
    (void)state;
    static const enum quire_kv_dtype types[] = { QUIRE_KV_BF16, QUIRE_KV_F16 };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 8; j++) {
            struct problem s =
                new_scene(caches[j / 2], (enum quire_compute)(j % 2), j == 3 ? 19 : 40);
            const size_t n = (size_t)s.n_rows * 6 * s.config.head_size;
            const struct format *f = &formats[types[i]];
            unsigned char *codes = malloc(n * f->bytes);
            for (size_t at = 0; at < n; at++) {
                const uint32_t code = encode(f, (double)s.q[at]);
                put(codes + at * f->bytes, f->bytes, code);
                s.q[at] = (float)decode(f, code);
            }
            struct result want = result_new(&s), got = result_new(&s);
            run_typed(&s, &(struct typed){ .q = s.q }, want.out, want.lse);
            run_typed(&s, &(struct typed){ .q_dtype = types[i], .q = codes }, got.out, got.lse);
            check_oracle(&s, &got);
            assert_same_bits(got.out, want.out, want.n_out);
            assert_same_bits(got.lse, want.lse, want.n_lse);
            result_free(&want), result_free(&got);
            free(codes);
            problem_free(&s);
        }
}

static void throughput_is_native(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++) {
        struct problem s = new_scene(caches[i], QUIRE_COMPUTE_NATIVE, 40);
        struct result want = result_new(&s), got = result_new(&s);
        run_typed(&s, &(struct typed){ .q = s.q }, want.out, want.lse);
        s.config.compute = QUIRE_COMPUTE_THROUGHPUT;
        run_typed(&s, &(struct typed){ .q = s.q }, got.out, got.lse);
        assert_same_bits(got.out, want.out, want.n_out);
        assert_same_bits(got.lse, want.lse, want.n_lse);
        result_free(&want), result_free(&got);
        problem_free(&s);
    }
}

/* Power-of-two scales change no bits; other scales are compared with the oracle. */
static void queries_of_integers(void **state)
{
    (void)state;
    for (int j = 0; j < 16; j++) {
        struct problem s = new_scene(caches[j / 4], (enum quire_compute)(j % 2), j == 3 ? 19 : 40);
        const bool exact = j / 2 % 2;
        const size_t d = s.config.head_size, rows = (size_t)s.n_rows * 6;
        int8_t *codes = malloc(rows * d);
        float *scale = malloc(rows * sizeof *scale);
        s.config.logits_soft_cap = j % 3 ? 0 : 20;
        for (size_t r = 0; r < rows; r++) {
            scale[r] = exact ? ldexpf(1, (int)(r % 5) - 7) : problem_uniform(0.001f, 0.02f);
            for (size_t i = 0; i < d; i++) {
                codes[r * d + i] = (int8_t)((int)problem_below(255) - 127);
                s.q[r * d + i] = (float)codes[r * d + i] * scale[r];
            }
        }
        struct result want = result_new(&s), got = result_new(&s);
        run_typed(&s, &(struct typed){ .q = s.q }, want.out, want.lse);
        run_typed(&s, &(struct typed){ .q_dtype = QUIRE_KV_INT8, .q = codes, .q_scale = scale },
                  got.out, got.lse);
        if (exact) {
            assert_same_bits(got.out, want.out, want.n_out);
            assert_same_bits(got.lse, want.lse, want.n_lse);
        } else if (s.config.compute == QUIRE_COMPUTE_F32) { /* native mode rounds f32 queries */
            check_oracle(&s, &got);
        }
        result_free(&want), result_free(&got);
        free(codes), free(scale);
        problem_free(&s);
    }
}

static void results_of_every_type(void **state)
{
    (void)state;
    static const float scales[] = { 0, 1, 0.0123f, 3.5f };
    for (int type = QUIRE_KV_BF16; type <= QUIRE_KV_INT8; type++)
        for (int j = 0; j < 4; j++) {
            const struct format *f = &formats[type];
            struct problem s = new_scene(caches[j], QUIRE_COMPUTE_NATIVE, j == 3 ? 19 : 40);
            struct result want = result_new(&s);
            float *lse = malloc(want.n_lse * sizeof *lse);
            unsigned char *out = malloc(want.n_out * f->bytes);
            if (j == 2)
                s.q[5] = NAN; /* row 0, head 0 */
            run_typed(&s, &(struct typed){ .q = s.q }, want.out, want.lse);
            run_typed(&s,
                      &(struct typed){ .q = s.q,
                                       .out_dtype = (enum quire_kv_dtype)type,
                                       .out_scale = scales[j] },
                      out, lse);
            assert_same_bits(lse, want.lse, want.n_lse);
            const bool scaled = f->bytes == 1 && scales[j] > 0;
            for (size_t i = 0; i < want.n_out; i++) {
                const float x = scaled ? want.out[i] / scales[j] : want.out[i];
                uint32_t got = 0;
                memcpy(&got, out + i * f->bytes, f->bytes);
                if (type == QUIRE_KV_INT8)
                    assert_true((int8_t)got == encode_int8((double)x));
                else if (isnan(x))
                    assert_true((got & ((1u << (f->bytes * 8 - 1)) - 1)) > f->max);
                else
                    assert_int_equal(got, encode(f, (double)x));
            }
            free(lse), free(out);
            result_free(&want);
            problem_free(&s);
        }
}

static void bad_types(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    const struct quire_attention_args good = f.args;
    for (size_t i = 0; i < sizeof f.out / sizeof *f.out; i++)
        f.out[i] = 7;
#define BAD(change, word)                                                                          \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(QUIRE_E_INVALID_ARG, word,                                                  \
                       quire_attention_forward(f.plan, &f.args, NULL, &err));                      \
        f.args = good;                                                                             \
    } while (0)
    BAD(f.args.q_dtype = QUIRE_KV_FP8_E4M3, "q_dtype");
    BAD(f.args.q_dtype = (enum quire_kv_dtype)77, "q_dtype");
    BAD(f.args.out_dtype = (enum quire_kv_dtype)77, "out_dtype");
    BAD(f.args.out_dtype = (enum quire_kv_dtype) - 1, "out_dtype");
    BAD(f.args.q_dtype = QUIRE_KV_INT8, "q_scale is NULL");
    BAD(f.args.q_scale = f.q, "q_scale is given");
    BAD(f.args.out_scale = -1, "out_scale");
    BAD(f.args.out_scale = NAN, "out_scale");
    BAD(f.args.out_scale = INFINITY, "out_scale");
    BAD(f.args.q_dtype = QUIRE_KV_INT8; f.args.q_scale = f.lse, "q_scale and args.lse");
    BAD(f.args.q_dtype = QUIRE_KV_INT8; f.args.q_scale = f.out, "q_scale and args.out");
    /* extents are in elements of the type */
    BAD(f.args.out_dtype = QUIRE_KV_INT8; f.args.out = (char *)f.q + 21 * 16 * 4 - 1, "args.out");
    f.args.out_dtype = QUIRE_KV_INT8;
    f.args.out = (char *)f.q + 21 * 16 * 4;
    must(quire_attention_check(f.plan, &f.args, &err));
    f.args = good;
    f.args.q_dtype = QUIRE_KV_BF16;
    f.args.out = f.q + 21 * 8;
    must(quire_attention_check(f.plan, &f.args, &err));
#undef BAD
    for (size_t i = 0; i < sizeof f.out / sizeof *f.out; i++)
        assert_true(f.out[i] == 7);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_of_every_float),
        cmocka_unit_test(throughput_is_native),
        cmocka_unit_test(queries_of_integers),
        cmocka_unit_test(results_of_every_type),
        cmocka_unit_test(bad_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
