/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_params.c - defaults and checks of sampling parameters; names of samplers. */
#include "engine/sampling_params.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* In the default order. */
static const struct {
    const char *name, *alias;
} samplers[] = {
    [QUIRE_SAMPLER_PENALTIES] = { "penalties", NULL },
    [QUIRE_SAMPLER_DRY] = { "dry", NULL },
    [QUIRE_SAMPLER_TOP_N_SIGMA] = { "top_n_sigma", NULL },
    [QUIRE_SAMPLER_TOP_K] = { "top_k", NULL },
    [QUIRE_SAMPLER_TYPICAL_P] = { "typ_p", "typical_p" },
    [QUIRE_SAMPLER_TOP_P] = { "top_p", NULL },
    [QUIRE_SAMPLER_MIN_P] = { "min_p", NULL },
    [QUIRE_SAMPLER_XTC] = { "xtc", NULL },
    [QUIRE_SAMPLER_TEMPERATURE] = { "temperature", "temp" },
};
enum { N_SAMPLERS = sizeof samplers / sizeof samplers[0] };
_Static_assert((int)N_SAMPLERS <= (int)QUIRE_MAX_SAMPLERS, "every sampler and the end of the list");

const char *quire_sampler_name(int kind)
{
    return kind > 0 && kind < N_SAMPLERS ? samplers[kind].name : NULL;
}

static int find_sampler(const char *name, size_t n)
{
    for (int kind = 1; kind < N_SAMPLERS; kind++) {
        const char *const names[] = { samplers[kind].name, samplers[kind].alias };
        for (int i = 0; i < 2; i++)
            if (names[i] && strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
                return kind;
    }
    return QUIRE_SAMPLER_NONE;
}

static quire_status check_samplers(const uint8_t *list, struct quire_error *err)
{
    uint32_t seen = 0, n = 0;
    for (; n < QUIRE_MAX_SAMPLERS && list[n]; n++) {
        if (list[n] >= N_SAMPLERS)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "samplers[%u] %u is not a sampler", n,
                           list[n]);
        if (seen >> list[n] & 1)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "samplers: %s occurs twice",
                           samplers[list[n]].name);
        seen |= 1u << list[n];
    }
    for (uint32_t i = n; i < QUIRE_MAX_SAMPLERS; i++)
        if (list[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "samplers[%u] comes after the end of the list",
                           i);
    return QUIRE_OK;
}

quire_status quire_samplers_parse(const char *names, uint8_t *out, struct quire_error *err)
{
    if (!names || !out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", names ? "samplers" : "names");
    uint8_t list[QUIRE_MAX_SAMPLERS] = { 0 };
    uint32_t n = 0;
    for (const char *p = names;; p++) {
        const size_t size = strcspn(p, ";");
        const int kind = find_sampler(p, size);
        if (!kind)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "samplers: '%.*s' is not a sampler",
                           (int)(size < 64 ? size : 64), p);
        list[n++] = (uint8_t)kind;
        /* a list without duplicates fits: see the static assertion */
        QR_TRY(check_samplers(list, err));
        p += size;
        if (!*p)
            break;
    }
    memcpy(out, list, sizeof list);
    return QUIRE_OK;
}

void quire_sampling_params_init(struct quire_sampling_params *params, size_t struct_size)
{
    const struct quire_sampling_params defaults = {
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .repetition_penalty = 1.0f,
        .penalty_last_n = 64,
    };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

static quire_status check_bias(const struct quire_sampling_params *p, uint32_t n_vocab,
                               struct quire_error *err)
{
    if (p->n_logit_bias && !p->logit_bias)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "logit_bias is NULL but n_logit_bias is %u",
                       p->n_logit_bias);
    for (uint32_t i = 0; i < p->n_logit_bias; i++) {
        const struct quire_logit_bias *b = &p->logit_bias[i];
        if (b->token < 0 || (uint32_t)b->token >= n_vocab)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "logit_bias[%u].token %d is outside the vocabulary of %u", i, b->token,
                           n_vocab);
        if (isnan(b->bias) || b->bias == INFINITY)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "logit_bias[%u].bias must be finite or -infinity", i);
    }
    return QUIRE_OK;
}

static quire_status check_breakers(const struct quire_sampling_params *p, uint32_t n_vocab,
                                   struct quire_error *err)
{
    const uint32_t n = p->n_dry_breakers;
    if (n && !p->dry_breakers)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dry_breakers is NULL but n_dry_breakers is %u",
                       n);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t token = p->dry_breakers[i];
        const bool first = i == 0 || p->dry_breakers[i - 1] == -1;
        if (token == -1 ? first : token < 0 || (uint32_t)token >= n_vocab)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           token == -1 ? "dry_breakers[%u] %d ends an empty sequence"
                                       : "dry_breakers[%u] %d is outside the vocabulary of %u",
                           i, token, n_vocab);
    }
    if (n && p->dry_breakers[n - 1] != -1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dry_breakers does not end with -1");
    return QUIRE_OK;
}

static quire_status check_reals(const struct quire_sampling_params *p, struct quire_error *err)
{
    const struct {
        const char *name;
        float value, min, max;
    } reals[] = {
        { "temperature", p->temperature, 0, FLT_MAX },
        { "top_p", p->top_p, 0, 1 },
        { "min_p", p->min_p, 0, 1 },
        { "presence_penalty", p->presence_penalty, -FLT_MAX, FLT_MAX },
        { "frequency_penalty", p->frequency_penalty, -FLT_MAX, FLT_MAX },
        { "dynatemp_range", p->dynatemp_range, 0, FLT_MAX },
        { "dynatemp_exponent", p->dynatemp_exponent, 0, FLT_MAX },
        { "typical_p", p->typical_p, 0, 1 },
        { "top_n_sigma", p->top_n_sigma, -FLT_MAX, FLT_MAX },
        { "xtc_probability", p->xtc_probability, 0, 1 },
        { "xtc_threshold", p->xtc_threshold, 0, 1 },
        { "dry_multiplier", p->dry_multiplier, 0, FLT_MAX },
        { "mirostat_tau", p->mirostat_tau, 0, FLT_MAX },
        { "mirostat_eta", p->mirostat_eta, 0, FLT_MAX },
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        if (reals[i].value >= reals[i].min && reals[i].value <= reals[i].max) /* NaN fails */
            continue;
        const char *range = reals[i].max == 1  ? "in 0..1"
                            : reals[i].min < 0 ? "finite"
                                               : "finite and not negative";
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s %g must be %s", reals[i].name,
                       (double)reals[i].value, range);
    }
    if (!(p->repetition_penalty > 0 && isfinite(p->repetition_penalty)))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "repetition_penalty %g must be finite and above 0",
                       (double)p->repetition_penalty);
    if (!(p->dry_base == 0 || (p->dry_base >= 1 && isfinite(p->dry_base))))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dry_base %g must be finite and at least 1, or 0",
                       (double)p->dry_base);
    return QUIRE_OK;
}

static quire_status check_integers(const struct quire_sampling_params *p, struct quire_error *err)
{
    if (p->penalty_last_n < -1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "penalty_last_n %d must be -1, 0 or positive",
                       p->penalty_last_n);
    if (p->dry_penalty_last_n < -1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dry_penalty_last_n %d must be -1, 0 or positive",
                       p->dry_penalty_last_n);
    if (p->dry_allowed_length < 0 || p->dry_allowed_length > QUIRE_DRY_MAX_REPEAT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dry_allowed_length %d must be in 0..%d",
                       p->dry_allowed_length, QUIRE_DRY_MAX_REPEAT);
    if (p->mirostat != 0 && p->mirostat != 2)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "mirostat %u must be 0 or 2%s", p->mirostat,
                       p->mirostat == 1 ? ": version 1 is not supported" : "");
    if (p->mirostat && p->samplers[0])
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "samplers cannot be combined with mirostat, which has an order of its own");
    return QUIRE_OK;
}

static void resolve_defaults(struct quire_sampling_params *p)
{
    const struct {
        float *field, value;
    } reals[] = {
        { &p->dynatemp_exponent, 1 }, { &p->typical_p, 1 },    { &p->xtc_threshold, 0.1f },
        { &p->dry_base, 1.75f },      { &p->mirostat_tau, 5 }, { &p->mirostat_eta, 0.1f },
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (*reals[i].field == 0)
            *reals[i].field = reals[i].value;
    if (p->dry_allowed_length == 0)
        p->dry_allowed_length = 2;
    if (p->dry_penalty_last_n == 0)
        p->dry_penalty_last_n = -1;
    if (p->min_keep == 0)
        p->min_keep = 1;
    if (!p->samplers[0])
        for (int kind = 1; kind < N_SAMPLERS; kind++)
            p->samplers[kind - 1] = (uint8_t)kind;
}

quire_status qr_sampling_read(struct quire_sampling_params *out,
                              const struct quire_sampling_params *params, uint32_t n_vocab,
                              struct quire_error *err)
{
    if (!params)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "sampling params is NULL");
    QR_READ_STRUCT(out, params, seed, "sampling", err);
    QR_TRY(check_reals(out, err));
    QR_TRY(check_integers(out, err));
    QR_TRY(check_samplers(out->samplers, err));
    QR_TRY(check_bias(out, n_vocab, err));
    QR_TRY(check_breakers(out, n_vocab, err));
    resolve_defaults(out);
    return QUIRE_OK;
}

quire_status quire_sampling_validate(const struct quire_sampling_params *params, uint32_t n_vocab,
                                     struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_sampling_params p;
    return qr_sampling_read(&p, params, n_vocab, err);
}
