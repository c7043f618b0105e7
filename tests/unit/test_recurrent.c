/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent.c - convolution and recurrences over the rows of a sequence: against formulas in
 * double precision, and the same bits for every division of the rows and columns. */
#include "kernels/dispatch.h"
#include "quire_cmocka.h"
#include "recurrent/conv.h"
#include "recurrent/scan.h"
#include "recurrent/wkv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 23, WIDTH = 37, TAPS = 4, DILATIONS = 3, KEYS = 12, VALUES = 40 };

static const struct qr_kernels *kernels;
static uint32_t seed = 1;

static float random_float(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1 << 23) - 1;
}

static void fill(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * random_float();
}

static int open_level(void **state)
{
    (void)state;
    return qr_kernels_get(NULL, &kernels, NULL) == QUIRE_OK ? 0 : -1;
}

/* ---- Convolution */

static float conv_x[ROWS][WIDTH], conv_w[TAPS][WIDTH], conv_bias[WIDTH];

/* Rows in steps of `step`, channels in blocks of `block`. */
static void run_conv(size_t taps, size_t dilation, size_t step, size_t block,
                     float out[ROWS][WIDTH], float tail[TAPS * DILATIONS][WIDTH])
{
    memset(tail, 0x7f, TAPS * DILATIONS * sizeof *tail); /* a fresh sequence does not read it */
    for (size_t r = 0; r < ROWS; r += step) {
        const struct qr_conv conv = { .x = conv_x[r],
                                      .out = out[r],
                                      .x_stride = WIDTH,
                                      .out_stride = WIDTH,
                                      .n_rows = step < ROWS - r ? step : ROWS - r,
                                      .w = conv_w[0],
                                      .bias = conv_bias,
                                      .width = WIDTH,
                                      .taps = taps,
                                      .dilation = dilation,
                                      .tail = tail[0],
                                      .fresh = r == 0 };
        for (size_t c = 0; c < WIDTH; c += block)
            qr_conv_run(&conv, c, c + block < WIDTH ? c + block : WIDTH, kernels);
    }
}

static void check_convolution(size_t taps, size_t dilation)
{
    static const size_t steps[] = { 1, 2, 3, 4, 7, 16, ROWS };
    static float want[ROWS][WIDTH], out[ROWS][WIDTH];
    static float tail[TAPS * DILATIONS][WIDTH], tail_want[TAPS * DILATIONS][WIDTH];
    const size_t kept = (taps - 1) * dilation;
    run_conv(taps, dilation, ROWS, WIDTH, want, tail_want);
    for (size_t t = 0; t < ROWS; t++)
        for (size_t c = 0; c < WIDTH; c++) {
            double sum = conv_bias[c];
            for (size_t j = 0; j < taps; j++)
                if (t + j * dilation >= kept)
                    sum += (double)conv_w[j][c] * conv_x[t + j * dilation - kept][c];
            assert_true(fabs(sum - (double)want[t][c]) < 1e-5);
        }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t block = 16; block <= WIDTH; block += 21) {
            run_conv(taps, dilation, steps[i], block, out, tail);
            assert_memory_equal(out, want, sizeof out);
            if (kept)
                assert_memory_equal(tail, tail_want, kept * sizeof *tail);
        }
    for (size_t j = 0; j < kept; j++) /* the last inputs, oldest first */
        assert_memory_equal(tail_want[j], conv_x[ROWS - kept + j], sizeof *tail);
}

static void convolution(void **state)
{
    (void)state;
    fill(&conv_x[0][0], ROWS * WIDTH, 2);
    fill(conv_w[0], TAPS * WIDTH, 1);
    fill(conv_bias, WIDTH, 1);
    for (size_t taps = 1; taps <= TAPS; taps++)
        for (size_t dilation = 1; dilation <= DILATIONS; dilation++)
            check_convolution(taps, dilation);
}

/* ---- Recurrences */

enum rule { OUTER, DELTA, CHANNELS };

static struct {
    float q[ROWS][KEYS], k[ROWS][KEYS], v[ROWS][VALUES], decay[ROWS][KEYS], beta[ROWS];
    float dt[ROWS][VALUES], rates[KEYS][VALUES], d[VALUES];
} in;

/* Rows from r and columns from c on; the state is the caller's to set. */
static struct qr_scan scan_of(enum rule rule, bool vector, size_t r, size_t n_rows, size_t c,
                              size_t n_columns, float out[ROWS][VALUES])
{
    return (struct qr_scan){
        .n_keys = KEYS,
        .n_values = n_columns < VALUES - c ? n_columns : VALUES - c,
        .n_rows = n_rows < ROWS - r ? n_rows : ROWS - r,
        .fresh = r == 0,
        .q = in.q[r],
        .k = in.k[r],
        .v = in.v[r] + c,
        .key_stride = KEYS,
        .value_stride = VALUES,
        .decay = in.decay[r],
        .decay_stride = KEYS,
        .decay_step = vector,
        .dt = rule == CHANNELS ? in.dt[r] + c : &in.beta[r],
        .dt_stride = rule == CHANNELS ? VALUES : 1,
        .d = 0.25f,
        .out = out[r] + c,
        .out_stride = VALUES,
    };
}

/* rates: those of the columns, with the stride of the state. */
static void call_scan(enum rule rule, const struct qr_scan *scan, const float *rates, size_t c)
{
    if (rule == OUTER)
        qr_scan_outer(scan, kernels);
    else if (rule == DELTA)
        qr_scan_delta(scan, kernels);
    else
        qr_scan_channels(scan, rates, in.d + c, kernels);
}

static void run_scan(enum rule rule, bool vector, size_t step, size_t block,
                     float out[ROWS][VALUES], float s[KEYS][VALUES])
{
    memset(s, 0x7f, KEYS * sizeof *s);
    for (size_t r = 0; r < ROWS; r += step)
        for (size_t c = 0; c < VALUES; c += block) {
            struct qr_scan scan = scan_of(rule, vector, r, step, c, block, out);
            scan.state = s[0] + c;
            scan.state_stride = VALUES;
            call_scan(rule, &scan, in.rates[0] + c, c);
        }
}

/* ---- bf16 states */

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float f32_of(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* All columns, rows in steps of `step`. */
static void run_stored(enum rule rule, bool vector, size_t step, float out[ROWS][VALUES],
                       uint16_t stored[KEYS * VALUES])
{
    static float buffer[KEYS * VALUES];
    memset(stored, 0x7f, KEYS * VALUES * sizeof *stored); /* a fresh sequence does not read it */
    for (size_t r = 0; r < ROWS; r += step) {
        struct qr_scan scan = scan_of(rule, vector, r, step, 0, VALUES, out);
        memset(buffer, 0x7f, sizeof buffer);
        scan.state = buffer;
        scan.bf16 = stored;
        scan.state_stride = VALUES;
        call_scan(rule, &scan, in.rates[0], 0);
    }
}

/* An f32 state that the test rounds after every row gives the same bits. */
static void check_stored(enum rule rule, bool vector)
{
    static const size_t steps[] = { 1, 3, 7, 16, ROWS };
    static float want[ROWS][VALUES], out[ROWS][VALUES], s[KEYS][VALUES];
    static uint16_t stored[KEYS * VALUES];
    for (size_t r = 0; r < ROWS; r++) {
        struct qr_scan scan = scan_of(rule, vector, r, 1, 0, VALUES, want);
        scan.state = s[0];
        scan.state_stride = VALUES;
        call_scan(rule, &scan, in.rates[0], 0);
        for (size_t i = 0; i < KEYS * VALUES; i++)
            s[i / VALUES][i % VALUES] = f32_of(bf16_of(s[i / VALUES][i % VALUES]));
    }
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        run_stored(rule, vector, steps[k], out, stored);
        assert_memory_equal(out, want, sizeof out);
        for (size_t i = 0; i < KEYS * VALUES; i++)
            assert_int_equal(stored[i], bf16_of(s[i / VALUES][i % VALUES]));
    }
}

/* One column in double precision. */
static void oracle(enum rule rule, bool vector, size_t j, double out[ROWS], double s[KEYS])
{
    memset(s, 0, KEYS * sizeof *s);
    for (size_t r = 0; r < ROWS; r++) {
        const double v = in.v[r][j], dt = in.dt[r][j];
        double read = 0, sum = 0;
        for (size_t i = 0; i < KEYS; i++) {
            s[i] *= rule == CHANNELS ? exp(dt * in.rates[i][j]) : in.decay[r][vector ? i : 0];
            read += in.k[r][i] * s[i];
        }
        const double u = rule == OUTER   ? in.beta[r] * v
                         : rule == DELTA ? in.beta[r] * (v - read)
                                         : dt * v;
        for (size_t i = 0; i < KEYS; i++) {
            s[i] += in.k[r][i] * u;
            sum += in.q[r][i] * s[i];
        }
        out[r] = sum + (rule == OUTER ? 0.25 * v : rule == CHANNELS ? in.d[j] * v : 0);
    }
}

static void check_rule(enum rule rule, bool vector)
{
    static const size_t steps[] = { 1, 3, 7, 16, ROWS };
    float want[ROWS][VALUES], out[ROWS][VALUES], s[KEYS][VALUES], s_want[KEYS][VALUES];
    run_scan(rule, vector, ROWS, VALUES, want, s_want);
    for (size_t j = 0; j < VALUES; j++) {
        double o[ROWS], state[KEYS];
        oracle(rule, vector, j, o, state);
        for (size_t r = 0; r < ROWS; r++)
            assert_true(fabs(o[r] - (double)want[r][j]) < 2e-5);
        for (size_t i = 0; i < KEYS; i++)
            assert_true(fabs(state[i] - (double)s_want[i][j]) < 2e-5);
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t block = 16; block <= VALUES; block += 24) {
            run_scan(rule, vector, steps[i], block, out, s);
            assert_memory_equal(out, want, sizeof out);
            assert_memory_equal(s, s_want, sizeof s);
        }
}

static void fill_inputs(void)
{
    fill(in.q[0], ROWS * KEYS, 0.5f);
    fill(in.k[0], ROWS * KEYS, 0.5f);
    fill(in.v[0], ROWS * VALUES, 1);
    fill(in.rates[0], KEYS * VALUES, 1);
    fill(in.d, VALUES, 1);
    for (size_t r = 0; r < ROWS; r++) {
        in.beta[r] = 1 + random_float();
        for (size_t i = 0; i < KEYS; i++)
            in.decay[r][i] = 0.5f + random_float() / 2;
        for (size_t j = 0; j < VALUES; j++)
            in.dt[r][j] = 1 + random_float();
    }
    for (size_t i = 0; i < KEYS; i++)
        for (size_t j = 0; j < VALUES; j++)
            in.rates[i][j] = -fabsf(in.rates[i][j]);
}

static void recurrences(void **state)
{
    (void)state;
    fill_inputs();
    check_rule(OUTER, false);
    check_rule(DELTA, false);
    check_rule(DELTA, true);
    check_rule(CHANNELS, false);
}

static void bf16_states(void **state)
{
    (void)state;
    fill_inputs();
    check_stored(OUTER, false);
    check_stored(DELTA, false);
    check_stored(DELTA, true);
    check_stored(CHANNELS, false);
}

/* ---- WKV */

static struct {
    float k[ROWS][VALUES], v[ROWS][VALUES], decay[VALUES], first[VALUES];
} wkv_in;

static void run_wkv(size_t step, size_t block, float out[ROWS][VALUES], float s[3][VALUES])
{
    memset(s, 0x7f, 3 * sizeof *s); /* a fresh sequence does not read it */
    for (size_t r = 0; r < ROWS; r += step)
        for (size_t c = 0; c < VALUES; c += block) {
            const struct qr_wkv wkv = { .k = wkv_in.k[r] + c,
                                        .v = wkv_in.v[r] + c,
                                        .out = out[r] + c,
                                        .stride = VALUES,
                                        .n_rows = step < ROWS - r ? step : ROWS - r,
                                        .decay = wkv_in.decay + c,
                                        .first = wkv_in.first + c,
                                        .sum = s[0] + c,
                                        .weight = s[1] + c,
                                        .top = s[2] + c,
                                        .fresh = r == 0 };
            qr_wkv_run(&wkv, block < VALUES - c ? block : VALUES - c, kernels);
        }
}

/* The weighted mean of all values so far, relative to the largest exponent. */
static double wkv_want(size_t t, size_t c)
{
    double top = (double)wkv_in.first[c] + (double)wkv_in.k[t][c], sum = 0, weights = 0;
    for (size_t i = 0; i < t; i++)
        top = fmax(top, (double)(t - 1 - i) * (double)wkv_in.decay[c] + (double)wkv_in.k[i][c]);
    for (size_t i = 0; i <= t; i++) {
        const double e =
            i == t ? (double)wkv_in.first[c] : (double)(t - 1 - i) * (double)wkv_in.decay[c];
        const double w = exp(e + (double)wkv_in.k[i][c] - top);
        sum += w * (double)wkv_in.v[i][c];
        weights += w;
    }
    return sum / weights;
}

/* Moderate and very large keys: the largest weight is the unit, so nothing overflows. */
static void wkv(void **state)
{
    (void)state;
    static const size_t steps[] = { 1, 2, 7, ROWS };
    static const float scales[] = { 2, 300 };
    for (size_t k = 0; k < 2; k++) {
        float want[ROWS][VALUES], out[ROWS][VALUES], s[3][VALUES], s_want[3][VALUES];
        fill(&wkv_in.k[0][0], ROWS * VALUES, scales[k]);
        fill(&wkv_in.v[0][0], ROWS * VALUES, 1);
        fill(wkv_in.first, VALUES, 2);
        for (size_t c = 0; c < VALUES; c++)
            wkv_in.decay[c] = -expf(2 * random_float() - 1);
        run_wkv(ROWS, VALUES, want, s_want);
        for (size_t t = 0; t < ROWS; t++)
            for (size_t c = 0; c < VALUES; c++)
                assert_true(fabs(wkv_want(t, c) - (double)want[t][c]) < (k ? 1e-3 : 1e-5));
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            for (size_t block = 16; block <= VALUES; block += 24) {
                run_wkv(steps[i], block, out, s);
                assert_memory_equal(out, want, sizeof out);
                assert_memory_equal(s, s_want, sizeof s);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution),
        cmocka_unit_test(recurrences),
        cmocka_unit_test(bf16_states),
        cmocka_unit_test(wkv),
    };
    return cmocka_run_group_tests(tests, open_level, NULL);
}
