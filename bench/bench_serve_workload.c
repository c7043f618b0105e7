/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_workload.c - generates requests from distributions, or reads them from a trace. */
#include "bench_serve_workload.h"
#include "bench_stats.h"
#include "json/parse.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Distributions */

static bool read_number(const char **text, double *out)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *out = strtod(*text, &end);
    *text = end;
    return *out <= WORKLOAD_MAX_TOKENS;
}

bool workload_parse_lengths(const char *text, struct workload_lengths *out)
{
    *out = (struct workload_lengths){ 0 };
    if (!read_number(&text, &out->a) || out->a < 1)
        return false;
    out->log_normal = *text == ',';
    out->b = out->a;
    if (*text == '-' || *text == ',') {
        text++;
        if (!read_number(&text, &out->b))
            return false;
    }
    if (*text)
        return false;
    return out->log_normal ||
           (out->b >= out->a && out->a == floor(out->a) && out->b == floor(out->b));
}

/* Uniform in [0, 1). */
static double uniform(uint64_t *rng) { return (double)(bench_random(rng) >> 11) * 0x1p-53; }

/* Standard normal by the Box-Muller transform. */
static double normal(uint64_t *rng)
{
    const double radius = sqrt(-2 * log(1 - uniform(rng)));
    return radius * cos(2 * 3.14159265358979323846 * uniform(rng));
}

uint32_t workload_draw_length(const struct workload_lengths *l, uint64_t *rng)
{
    if (!l->log_normal)
        return (uint32_t)(l->a + floor(uniform(rng) * (l->b - l->a + 1)));
    const double variance = log(1 + l->b * l->b / (l->a * l->a));
    const double x = round(exp(log(l->a) - variance / 2 + sqrt(variance) * normal(rng)));
    return x < 1 ? 1 : x > WORKLOAD_MAX_TOKENS ? WORKLOAD_MAX_TOKENS : (uint32_t)x;
}

double workload_draw_interval(double rate, uint64_t *rng)
{
    return rate > 0 ? -log(1 - uniform(rng)) / rate : 0;
}

bool workload_generate(struct workload *w, const struct workload_params *p)
{
    uint64_t rng = p->seed * 0x9e3779b97f4a7c15ull + 1; /* not 0: the factor is odd */
    rng = rng ? rng : 1;
    *w = (struct workload){ .shared_prefix = p->shared_prefix, .seed = p->seed };
    w->requests = malloc(p->n * sizeof *w->requests);
    if (!w->requests)
        return false;
    double now = 0;
    for (w->n = 0; w->n < p->n; w->n++) {
        struct workload_request *r = &w->requests[w->n];
        now += workload_draw_interval(p->rate, &rng);
        r->arrival = now;
        r->prompt = workload_draw_length(&p->prompt, &rng) + p->shared_prefix;
        r->answer = workload_draw_length(&p->answer, &rng);
        r->group = p->n_groups ? 1 + w->n % p->n_groups : 0;
    }
    return true;
}

void workload_free(struct workload *w)
{
    free(w->requests);
    *w = (struct workload){ 0 };
}

/* ---- Prompts */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

uint64_t workload_token(const struct workload *w, uint32_t i, uint32_t position)
{
    const struct workload_request *r = &w->requests[i];
    const bool shared = r->group && position < w->shared_prefix;
    const uint64_t owner = shared ? r->group : (uint64_t)WORKLOAD_MAX_REQUESTS + i;
    return mix(mix(w->seed + 1) ^ mix((owner << 32) + position));
}

/* ---- Traces */

/* Reads a member of an object; false with a message if it is missing or out of low .. high. */
static bool member(const struct qr_json *object, const char *key, double low, double high,
                   double *out, char *message, size_t size)
{
    const struct qr_json *v = qr_json_get(object, key);
    *out = qr_json_number(v);
    if (qr_json_is_number(v) && *out >= low && *out <= high)
        return true;
    snprintf(message, size, "%s is %s", key, v ? "no number, or out of range" : "missing");
    return false;
}

static bool is_known(const char *key)
{
    static const char *const known[] = { "arrival", "prompt_tokens", "answer_tokens",
                                         "prefix_group" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i]))
            return true;
    return false;
}

static bool read_request(const struct qr_json *object, struct workload_request *r, char *message,
                         size_t size)
{
    double prompt, answer, group = -1;
    if (!qr_json_is_object(object))
        return snprintf(message, size, "no JSON object"), false;
    for (struct qr_json_iter i = qr_json_iterate(object); qr_json_next(&i);)
        if (!is_known(i.key))
            return snprintf(message, size, "unknown member %.40s", i.key), false;
    if (!member(object, "arrival", 0, 1e9, &r->arrival, message, size) ||
        !member(object, "prompt_tokens", 1, WORKLOAD_MAX_TOKENS, &prompt, message, size) ||
        !member(object, "answer_tokens", 1, WORKLOAD_MAX_TOKENS, &answer, message, size))
        return false;
    if (qr_json_get(object, "prefix_group") &&
        !member(object, "prefix_group", 0, WORKLOAD_MAX_REQUESTS - 1, &group, message, size))
        return false;
    r->prompt = (uint32_t)prompt;
    r->answer = (uint32_t)answer;
    r->group = (uint32_t)(group + 1);
    return true;
}

static bool read_line(struct workload *w, const char *line, size_t n, char *message, size_t size)
{
    struct qr_json_error error;
    struct qr_json *root = qr_json_parse(line, n, 0, NULL, &error);
    if (!root)
        return snprintf(message, size, "%s at byte %zu", error.text, error.offset), false;
    struct workload_request *r = &w->requests[w->n];
    bool ok = read_request(root, r, message, size);
    qr_json_free(root);
    if (ok && w->n && r->arrival < r[-1].arrival)
        ok = (snprintf(message, size, "arrival is before that of the line above"), false);
    w->n += ok;
    return ok;
}

bool workload_parse_trace(struct workload *w, const char *text, size_t size, char *message,
                          size_t message_size)
{
    *w = (struct workload){ .requests = malloc(WORKLOAD_MAX_REQUESTS * sizeof *w->requests) };
    char reason[128] = "no memory";
    bool ok = w->requests != NULL;
    unsigned line = 0;
    for (size_t at = 0; ok && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        line++;
        bool blank = true;
        for (size_t i = at; i < at + n && blank; i++)
            blank = text[i] == ' ' || text[i] == '\t' || text[i] == '\r';
        if (!blank && w->n == WORKLOAD_MAX_REQUESTS)
            ok = (snprintf(reason, sizeof reason, "more than %d requests", WORKLOAD_MAX_REQUESTS),
                  false);
        if (ok && !blank)
            ok = read_line(w, text + at, n, reason, sizeof reason);
        at += n + 1;
    }
    if (ok && w->n)
        return true;
    if (ok)
        snprintf(message, message_size, "no requests");
    else
        snprintf(message, message_size, "line %u: %s", line, reason);
    workload_free(w);
    return false;
}

bool workload_read_trace(struct workload *w, const char *path, char *message, size_t message_size)
{
    *w = (struct workload){ 0 };
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(WORKLOAD_MAX_TRACE) : NULL;
    const size_t n = text ? fread(text, 1, WORKLOAD_MAX_TRACE, f) : 0;
    bool ok = text && !ferror(f);
    if (!ok)
        snprintf(message, message_size, "%s", f && !text ? "no memory" : strerror(errno));
    else if (n == WORKLOAD_MAX_TRACE)
        ok = (snprintf(message, message_size, "the file is too large"), false);
    else
        ok = workload_parse_trace(w, text, n, message, message_size);
    free(text);
    if (f)
        fclose(f);
    return ok;
}
