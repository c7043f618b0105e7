/* SPDX-License-Identifier: Apache-2.0 */
/* bench_linear.c - `quire-bench linear`: GEMV and GEMM with packed weights, including the
 * conversion of the activations. */
#include "base/half.h"
#include "bench_measure.h"
#include "bench_table.h"
#include "bench_weights.h"
#include "kernels/dispatch.h"
#include "linear/linear.h"
#include "linear/onednn.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One weight matrix, in enough copies that each call reads its copy from memory, and the
 * activations. */
struct product {
    struct bench_machine *machine;
    const struct qr_kernels *kernels;
    struct qr_onednn *onednn; /* provider of the copies, or NULL */
    struct qr_packed **copies;
    size_t n_copies, next, n, k, m;
    float *x, *out;
    void *views;
    struct qr_act act;
    struct qr_linear_args args;
    struct qr_work_steal_counters *counters; /* [threads] */
    struct qr_unpacked *unpacked;            /* [threads], with a panel each */
    unsigned char *panels;
};

static const struct bench_column columns[] = {
    { "type", "type", BENCH_TEXT, 6 },
    { "N x K", "shape", BENCH_TEXT, 13 },
    { "M", "m", 0, 4 },
    { "threads", "threads", 0, 7 },
    { "compute", "compute", BENCH_TEXT, 10 },
    { "us", "us", 1, 9 },
    { "95 % low", "us_lo", 1, 9 },
    { "high", "us_hi", 1, 9 },
    { "weights GB/s", "gb_per_s", 1, 12 },
    { "GOP/s", "giga_ops", 1, 7 },
    { "of roofline", "of_roofline", BENCH_PERCENT, 11 },
    { "bound", "limit", BENCH_TEXT, 5 },
    { "error", "error", BENCH_ERROR, 8 },
    { "with rounding", "error_rounding", BENCH_ERROR, 13 },
    { "rounds", "rounds", BENCH_TEXT, 6 },
};

/* ---- set-up */

static void close_product(struct product *p)
{
    for (size_t i = 0; p->copies && i < p->n_copies; i++)
        qr_packed_destroy(p->copies[i]);
    qr_onednn_destroy(p->onednn);
    free(p->copies), free(p->x), free(p->out), free(p->views), free(p->counters);
    free(p->unpacked), free(p->panels);
    *p = (struct product){ 0 };
}

static quire_status create(struct product *p, uint32_t type, struct qr_packed **w,
                           struct quire_error *err)
{
    return p->onednn ? qr_packed_create_onednn(p->onednn, type, p->n, p->k, NULL, w, err)
                     : qr_packed_create(type, p->n, p->k, NULL, w, err);
}

static quire_status pack(struct product *p, uint32_t type, uint64_t seed, struct quire_error *err)
{
    struct qr_packed *w;
    quire_status s = create(p, type, &w, err);
    if (s != QUIRE_OK)
        return s;
    p->copies[0] = w;
    uint8_t *raw = malloc(w->row_bytes * w->panel_rows);
    for (size_t row = 0; raw && s == QUIRE_OK && row < p->n; row += w->panel_rows) {
        const size_t rows = p->n - row < w->panel_rows ? p->n - row : w->panel_rows;
        bench_weights_fill(type, raw, rows * p->k, 1 / sqrtf((float)p->k), &seed);
        s = qr_packed_pack_rows(w, row, rows, raw, err);
    }
    for (size_t i = 1; raw && s == QUIRE_OK && i < p->n_copies; i++) {
        s = create(p, type, &p->copies[i], err);
        if (s == QUIRE_OK)
            memcpy(p->copies[i]->data, w->data, w->bytes);
    }
    free(raw);
    return raw ? s : QUIRE_E_NOMEM;
}

static quire_status open_product(struct product *p, const struct bench_options *o, uint32_t type,
                                 size_t n, size_t k, uint32_t max_m, struct quire_error *err)
{
    uint64_t bytes, rng = o->seed + 0x1234567;
    size_t view_bytes;
    p->n = n;
    p->k = k;
    quire_status s = qr_packed_bytes(type, n, k, &bytes, err);
    if (s != QUIRE_OK)
        return s;
    if (o->onednn)
        s = qr_onednn_create(NULL, &p->onednn, err);
    if (s != QUIRE_OK)
        return s;
    const unsigned forms = QR_ACT_BF16 | QR_ACT_BF16_F32 | QR_ACT_Q8 | QR_ACT_Q8_MODIFIERS;
    if (!qr_act_bytes(forms, max_m, k, &view_bytes))
        return QUIRE_E_LIMIT;
    p->n_copies = bench_cold_bytes(o) / bytes + 1;
    p->copies = calloc(p->n_copies, sizeof *p->copies);
    p->x = malloc(max_m * k * sizeof *p->x);
    p->out = aligned_alloc(64, (max_m * n * sizeof *p->out + 63) / 64 * 64);
    p->views = aligned_alloc(64, view_bytes);
    const size_t n_threads = p->machine->n_threads, panel_bytes = qr_unpacked_bytes(k);
    p->counters = aligned_alloc(64, n_threads * sizeof *p->counters);
    p->unpacked = aligned_alloc(64, n_threads * sizeof *p->unpacked);
    p->panels = aligned_alloc(64, n_threads * panel_bytes);
    if (!p->copies || !p->x || !p->out || !p->views || !p->counters || !p->unpacked || !p->panels)
        return QUIRE_E_NOMEM;
    memset(p->counters, 0, n_threads * sizeof *p->counters);
    for (size_t i = 0; i < n_threads; i++)
        qr_unpacked_init(&p->unpacked[i], p->panels + i * panel_bytes, panel_bytes);
    for (size_t i = 0; i < max_m * k; i++) /* nearer to normal than one uniform number */
        p->x[i] = bench_random_float(&rng) + bench_random_float(&rng) + bench_random_float(&rng);
    return pack(p, type, rng, err);
}

/* ---- running */

static void product_part(void *arg, const struct quire_team *team)
{
    const struct product *p = arg;
    qr_act_convert_part(&p->act, p->kernels, team);
    quire_team_barrier(team);
    struct qr_linear_args args = p->args;
    args.unpacked = &p->unpacked[team->rank];
    qr_linear_part(&args, 1, p->kernels, p->counters, team);
}

static quire_status run(void *arg, struct quire_error *err)
{
    struct product *p = arg;
    (void)err;
    p->args.w = p->copies[p->next];
    p->next = (p->next + 1) % p->n_copies;
    return quire_threads_run(p->machine->threads, product_part, p);
}

/* ---- correctness */

/* Activation [i][k] as the kernel multiplies it: converted to bf16 or int8 where the kernel does
 * so. */
static double rounded(const struct qr_act *act, size_t i, size_t k)
{
    if (act->forms & QR_ACT_Q8) {
        const struct qr_q8_block *b = act->q + i * act->q_stride + k / QR_BLOCK_K;
        return (double)b->q[k % QR_BLOCK_K] * (double)b->d;
    }
    if (act->forms & QR_ACT_BF16_F32)
        return (double)act->bf16_f32[i * act->bf16_f32_stride + k];
    if (act->forms & QR_ACT_BF16)
        return (double)qr_bf16_to_f32(act->bf16[i * act->bf16_stride + k]);
    return (double)act->f32[i * act->f32_stride + k];
}

/* Weights of row j as the kernel multiplies them, and as the format defines them. */
static void weight_row(const struct product *p, size_t j, float *multiplied, float *given)
{
    qr_packed_unpack_row(p->args.w, j, given);
    for (size_t k = 0; k < p->k; k++)
        multiplied[k] = qr_linear_unpacks(p->args.w, p->args.compute)
                            ? qr_bf16_to_f32(qr_f32_to_bf16(given[k]))
                            : given[k];
}

/* Gets the largest error of sampled outputs against double-precision dot products, relative to
 * their RMS. *error: with converted operands, so only the f32 sums differ; *with_rounding: with the
 * original ones. */
static bool check(const struct product *p, double *error, double *with_rounding)
{
    enum { ROWS = 16 };
    float *w = malloc(2 * p->k * sizeof *w), *multiplied = w + p->k;
    double square = 0, worst = 0, worst_rounding = 0;
    size_t count = 0;
    for (size_t r = 0; w && r < ROWS; r++) {
        const size_t j = r * (p->n - 1) / (ROWS - 1);
        weight_row(p, j, multiplied, w);
        for (size_t i = 0; i<p->m; i += p->m> 4 ? p->m / 4 : 1) {
            double exact = 0, given = 0;
            for (size_t k = 0; k < p->k; k++) {
                given += (double)p->x[i * p->k + k] * (double)w[k];
                exact += rounded(&p->act, i, k) * (double)multiplied[k];
            }
            const double out = (double)p->out[i * p->n + j];
            worst = fmax(worst, fabs(out - exact));
            worst_rounding = fmax(worst_rounding, fabs(out - given));
            square += given * given;
            count++;
        }
    }
    free(w);
    const double rms = sqrt(square / (double)(count ? count : 1));
    *error = worst / rms;
    *with_rounding = worst_rounding / rms;
    return w && *error < 1e-3; /* false for NaN */
}

/* ---- rows of the table */

static enum bench_roof roof_of(uint32_t type, enum quire_compute compute, const char *level)
{
    if (compute == QUIRE_COMPUTE_F32 || type == QR_WEIGHT_F32)
        return BENCH_F32;
    if (compute == QUIRE_COMPUTE_THROUGHPUT || type == QR_WEIGHT_BF16)
        return bench_native_roof(level);
    return type == QR_WEIGHT_F16 ? BENCH_F32 : BENCH_INT8;
}

static int measure(struct product *p, struct bench_table *t, const struct bench_options *o,
                   uint32_t type, uint32_t m, enum quire_compute compute)
{
    struct bench_work work = { .run = run, .arg = p };
    struct bench_timing timing;
    double error, with_rounding;
    p->m = m;
    qr_act_init(&p->act,
                qr_linear_act_forms(p->copies[0], compute, p->kernels, p->machine->n_threads), p->x,
                p->k, m, p->k, p->views);
    p->args = (struct qr_linear_args){
        .w = p->copies[0], .x = &p->act, .out = p->out, .out_stride = p->n, .compute = compute
    };
    work.need[BENCH_READ] = (double)p->copies[0]->bytes;
    const enum bench_roof roof = roof_of(type, compute, p->machine->level);
    work.need[roof] = 2.0 * (double)p->n * (double)p->k * m;
    const quire_status s =
        bench_measure(p->machine, o, &work, bench_repetitions(o, 9), &timing, NULL);
    if (s != QUIRE_OK)
        return bench_fail("linear", s, NULL);
    const bool ok = check(p, &error, &with_rounding);
    bench_text(t, "%s", qr_weight_type_info(type)->name);
    bench_text(t, "%zu x %zu", p->n, p->k);
    bench_number(t, m);
    bench_number(t, p->machine->n_threads);
    bench_text(t, "%s", bench_compute_name(compute));
    bench_number(t, timing.seconds.median * 1e6);
    bench_number(t, timing.seconds.lo * 1e6);
    bench_number(t, timing.seconds.hi * 1e6);
    bench_number(t, work.need[BENCH_READ] / timing.seconds.median * 1e-9);
    bench_number(t, work.need[roof] / timing.seconds.median * 1e-9);
    bench_number(t, timing.fraction);
    bench_text(t, "%s", timing.limit);
    bench_number(t, error);
    bench_number(t, with_rounding);
    bench_text(t, "%u%s", timing.rounds, timing.cpu_time ? " cpu" : "");
    return ok ? 0 : bench_error(1, "the result above is wrong");
}

/* Measures one weight type and shape for all M and compute modes. */
static int product_rows(struct bench_machine *machine, struct bench_table *t,
                        const struct bench_options *o, uint32_t type, const char *shape)
{
    const struct bench_list ms = bench_list_or(&o->m, o->quick ? "1,32" : "1,2,4,8,16,32,128,512");
    struct product p = { .machine = machine };
    struct quire_error err = QUIRE_ERROR_INIT;
    enum quire_compute modes[3];
    const unsigned n_modes = bench_compute_modes(o, "native", modes);
    size_t n, k;
    uint32_t max_m = 1;
    char rest;
    if (!n_modes)
        return 64;
    /* NOLINTNEXTLINE(cert-err34-c): glibc gives the largest size, which is refused */
    if (sscanf(shape, "%zux%zu%c", &n, &k, &rest) != 2 || !n || !k || n > 1 << 24 || k > 1 << 20)
        return bench_error(64, "--shapes %s: expected NxK", shape);
    for (uint32_t i = 0; i < ms.n; i++)
        max_m = ms.v[i] > max_m ? ms.v[i] : max_m;
    quire_status s = qr_kernels_get(machine->level, &p.kernels, &err);
    if (s == QUIRE_OK)
        s = open_product(&p, o, type, n, k, max_m, &err);
    int code = s == QUIRE_OK ? 0 : bench_fail(shape, s, &err);
    for (uint32_t i = 0; !code && i < ms.n * n_modes; i++) {
        const uint32_t m = ms.v[i / n_modes] ? ms.v[i / n_modes] : 1;
        code = measure(&p, t, o, type, m, modes[i % n_modes]);
    }
    close_product(&p);
    return code;
}

/* One word of --types, or all types, for all shapes. */
static int type_rows(struct bench_machine *machine, struct bench_table *t,
                     const struct bench_options *o, const char *name)
{
    const bool all = !strcmp(name, "all");
    struct bench_weight_type type;
    char shape[32];
    int code = 0;
    if (!all && !bench_weight_type_find(name, &type))
        return bench_error(64, "--types %s: unknown weight type", name);
    for (unsigned i = 0; !code && (all ? bench_weight_type_get(i, &type) : i == 0); i++) {
        const char *shapes = o->shapes  ? o->shapes
                             : o->quick ? "512x2048"
                                        : "2048x2048,512x2048,8192x2048,2048x8192";
        while (!code && bench_next_word(&shapes, shape, sizeof shape))
            code = product_rows(machine, t, o, type.number, shape);
    }
    return code;
}

int bench_linear(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct bench_table t;
    int code = 0;
    bench_document_begin(&t, o, "linear");
    bench_table_begin(&t, "Linear: GEMV and GEMM", columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; !code && i < threads.n; i++) {
        struct bench_machine machine;
        code = bench_machine_open(&machine, o, threads.v[i]);
        if (code)
            break;
        const char *types = o->types   ? o->types
                            : o->quick ? "q8_0,bf16"
                                       : "q8_0,q4_0,q4_k,q6_k,bf16";
        char type_name[16];
        while (!code && bench_next_word(&types, type_name, sizeof type_name))
            code = type_rows(&machine, &t, o, type_name);
        bench_machine_close(&machine);
    }
    bench_table_end(&t);
    bench_note(&t, "us: median and 95 %% confidence interval. error: largest difference to "
                   "double-precision sums over sampled outputs, relative to their RMS; with "
                   "rounding: including the conversion of the activations.");
    bench_document_end(&t);
    return code;
}
