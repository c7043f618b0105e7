/* SPDX-License-Identifier: Apache-2.0 */
/* eval_tally.c - errors against reference tensors, their tolerances, and greedy continuations. */
#include "eval_tally.h"
#include <math.h>
#include <string.h>

static bool is_quantized(const char *weight_type)
{
    return strcmp(weight_type, "F32") != 0 && strcmp(weight_type, "F16") != 0 &&
           strcmp(weight_type, "BF16") != 0;
}

static double kv_rms(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_F16:
        return 0.006;
    case QUIRE_KV_BF16:
        return 0.05;
    case QUIRE_KV_INT8:
        return 0.12;
    case QUIRE_KV_FP8_E4M3:
        return 0.6;
    case QUIRE_KV_INT4:
        return 1.5;
    case QUIRE_KV_FP8_E5M2:
        return 1.2;
    default:
        return 0;
    }
}

/* docs/numerics.md, R12 */
#define BF16_STATES_RMS 0.06

struct tolerance tally_tolerance(const struct eval_options *o, const char *weight_type)
{
    struct tolerance t = { 3e-3, INFINITY, INFINITY };
    const bool f16 = strcmp(weight_type, "F16") == 0;
    if (o->compute == QUIRE_COMPUTE_THROUGHPUT && strcmp(weight_type, "F32") != 0)
        t = (struct tolerance){ INFINITY, 0.06, 1e-3 };
    else if (o->compute == QUIRE_COMPUTE_NATIVE && strcmp(weight_type, "F32") != 0 && !f16)
        t = is_quantized(weight_type) ? (struct tolerance){ INFINITY, 0.15, 8e-3 }
                                      : (struct tolerance){ INFINITY, 0.06, 1e-3 };
    const double k = kv_rms(o->k_dtype), v = kv_rms(o->v_dtype), kv = k > v ? k : v;
    if (kv > 0)
        t = (struct tolerance){ INFINITY, (isinf(t.rms) ? 0 : t.rms) + kv, INFINITY };
    if (o->bf16_states)
        t = (struct tolerance){ INFINITY, (isinf(t.rms) ? 0 : t.rms) + BF16_STATES_RMS, INFINITY };
    return t;
}

static double row_kl(const float *got, const float *want, size_t n)
{
    double mg = got[0], mw = want[0], sg = 0, sw = 0, kl = 0;
    for (size_t i = 1; i < n; i++) {
        mg = got[i] > mg ? got[i] : mg;
        mw = want[i] > mw ? want[i] : mw;
    }
    for (size_t i = 0; i < n; i++) {
        sg += exp(got[i] - mg);
        sw += exp(want[i] - mw);
    }
    for (size_t i = 0; i < n; i++) {
        const double lw = want[i] - mw - log(sw), lg = got[i] - mg - log(sg);
        kl += isinf(want[i]) ? 0 : exp(lw) * (lw - lg);
    }
    return kl;
}

static size_t argmax(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

uint64_t digest_floats(uint64_t digest, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (int byte = 0; byte < 4; byte++)
            digest = (digest ^ (bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    }
    return digest;
}

void tally_values(struct tally *t, const float *got, const float *want, size_t n)
{
    t->digest = digest_floats(t->digest, got, n);
    for (size_t i = 0; i < n; i++) {
        const bool excluded = isinf(want[i]) && got[i] == want[i]; /* by a head of clusters */
        const double d = excluded ? 0 : fabs((double)got[i] - want[i]);
        t->max = d > t->max || isnan(d) ? d : t->max;
        t->sum_squares += d * d;
    }
    t->n_values += n;
}

void tally_logits(struct tally *t, const float *got, const float *want, size_t n_rows, size_t vocab)
{
    tally_values(t, got, want, n_rows * vocab);
    for (size_t r = 0; r < n_rows; r++)
        t->kl += row_kl(got + r * vocab, want + r * vocab, vocab);
    t->n_rows += n_rows;
}

quire_status tally_greedy(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                          uint32_t n, const struct tolerance *tolerance, float *logits,
                          struct quire_error *err)
{
    struct tensor greedy, margin;
    if (!tensor_file_get(golden, "I64", &greedy, "greedy.%u", n) ||
        !tensor_file_get(golden, "F32", &margin, "greedy_margin.%u", n) || margin.n < greedy.n)
        return QUIRE_OK;
    quire_status s = QUIRE_OK;
    for (size_t i = 0; i < greedy.n && s == QUIRE_OK; i++) {
        const int64_t want = tensor_i64(&greedy, i);
        t->digest = digest_floats(t->digest, logits, eval_run_info(r)->vocab_size);
        const bool exact = !isinf(tolerance->max);
        const bool sure = exact || ((const float *)margin.data)[i] > 8 * tolerance->rms;
        t->greedy_checked += sure;
        t->greedy_wrong += sure && (int64_t)argmax(logits, eval_run_info(r)->vocab_size) != want;
        if (i + 1 < greedy.n)
            s = eval_run_next(r, (int32_t)want, logits, err);
    }
    return s;
}
