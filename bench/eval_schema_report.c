/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_schema_report.h"
#include "json/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void schema_report_add(struct times *t, double seconds)
{
    if (t->n == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 4096;
        double *list = realloc(t->list, capacity * sizeof *list);
        if (list == NULL)
            return;
        t->list = list;
        t->capacity = capacity;
    }
    t->list[t->n++] = seconds;
}

void schema_report_reason(struct schema_report *r, const char *message)
{
    const char *colon = message[0] == '#' ? strstr(message, ": ") : NULL;
    const char *text = colon != NULL ? colon + 2 : message;
    for (unsigned i = 0; i < r->n_reasons; i++)
        if (strncmp(r->reasons[i].text, text, sizeof r->reasons[i].text - 1) == 0) {
            r->reasons[i].count++;
            return;
        }
    if (r->n_reasons == MAX_REASONS)
        return;
    snprintf(r->reasons[r->n_reasons].text, sizeof r->reasons[0].text, "%s", text);
    r->reasons[r->n_reasons++].count = 1;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const double parts[] = { 0.5, 0.9, 0.99, 0.999 };
enum { N_PARTS = sizeof parts / sizeof parts[0] };

/* Mean, percentiles and maximum in microseconds. */
struct summary {
    double mean, part[N_PARTS], max;
};

static struct summary summarize(struct times *t)
{
    struct summary s = { 0 };
    double sum = 0;
    if (t->n == 0)
        return s;
    qsort(t->list, t->n, sizeof *t->list, ascending);
    for (size_t i = 0; i < t->n; i++)
        sum += t->list[i];
    s.mean = 1e6 * sum / (double)t->n;
    for (int i = 0; i < N_PARTS; i++)
        s.part[i] = 1e6 * t->list[(size_t)(parts[i] * (double)(t->n - 1))];
    s.max = 1e6 * t->list[t->n - 1];
    return s;
}

static void print_times(const char *name, struct times *t)
{
    const struct summary s = summarize(t);
    if (t->n == 0)
        return;
    printf("%-8s us: mean %.1f", name, s.mean);
    for (int i = 0; i < N_PARTS; i++)
        printf(", p%g %.1f", 100 * parts[i], s.part[i]);
    printf(", max %.1f (%zu)\n", s.max, t->n);
}

static void print_times_json(const char *name, struct times *t)
{
    const struct summary s = summarize(t);
    printf(", \"%s_us\": {\"count\": %zu, \"mean\": %.2f", name, t->n, s.mean);
    for (int i = 0; i < N_PARTS; i++)
        printf(", \"p%g\": %.2f", 100 * parts[i], s.part[i]);
    printf(", \"max\": %.2f}", s.max);
}

static double percent(unsigned n, unsigned of) { return of > 0 ? 100.0 * n / of : 0; }

void schema_report_print(struct schema_report *r)
{
    printf("schemas %u, instances %u\n", r->schemas, r->instances);
    printf("passing %u (%.1f %%), not compiled %u (%.1f %%)\n", r->passed,
           percent(r->passed, r->schemas), r->not_compiled, percent(r->not_compiled, r->schemas));
    printf("valid instance rejected: %u schemas (%.2f %%)\n", r->validation_errors,
           percent(r->validation_errors, r->schemas));
    printf("invalid instance accepted: %u schemas\n", r->invalidation_errors);
    printf("errors while replaying: %u schemas\n", r->failures);
    for (unsigned i = 0; i < r->n_reasons; i++)
        printf("  %4u not compiled: %s\n", r->reasons[i].count, r->reasons[i].text);
    print_times("compile", &r->compile_times);
    print_times("mask", &r->mask_times);
    print_times("commit", &r->commit_times);
}

void schema_report_print_json(struct schema_report *r)
{
    char quoted[QR_JSON_QUOTED_MAX(sizeof r->reasons[0].text)];
    printf("{\"schemas\": %u, \"instances\": %u, \"passing\": %u, \"not_compiled\": %u, "
           "\"valid_rejected\": %u, \"invalid_accepted\": %u, \"errors\": %u, \"reasons\": [",
           r->schemas, r->instances, r->passed, r->not_compiled, r->validation_errors,
           r->invalidation_errors, r->failures);
    for (unsigned i = 0; i < r->n_reasons; i++) {
        const char *text = r->reasons[i].text;
        const size_t size = qr_json_quote(quoted, text, strlen(text));
        printf("%s{\"message\": %.*s, \"count\": %u}", i > 0 ? ", " : "", (int)size, quoted,
               r->reasons[i].count);
    }
    printf("]");
    print_times_json("compile", &r->compile_times);
    print_times_json("mask", &r->mask_times);
    print_times_json("commit", &r->commit_times);
    printf("}\n");
}

void schema_report_free(struct schema_report *r)
{
    free(r->compile_times.list);
    free(r->mask_times.list);
    free(r->commit_times.list);
}
