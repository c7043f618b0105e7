/* SPDX-License-Identifier: Apache-2.0 */
/* eval_schema_report.h - counts and times of `quire-eval schema`. */
#ifndef QUIRE_BENCH_EVAL_SCHEMA_REPORT_H
#define QUIRE_BENCH_EVAL_SCHEMA_REPORT_H
#include <stddef.h>

/* Times in seconds. */
struct times {
    double *list;
    size_t n, capacity;
};

enum { MAX_REASONS = 256 };

struct schema_report {
    unsigned schemas, passed, not_compiled, instances;
    unsigned validation_errors;   /* schemas with a valid instance that is rejected */
    unsigned invalidation_errors; /* schemas with an invalid instance that is accepted */
    unsigned failures;            /* schemas with an error while an instance was replayed */
    struct times compile_times, mask_times, commit_times;
    struct {
        char text[120];
        unsigned count;
    } reasons[MAX_REASONS]; /* why schemas were not compiled */
    unsigned n_reasons;
};

void schema_report_add(struct times *t, double seconds);
/* Counts a message, without the place in the schema that it begins with. */
void schema_report_reason(struct schema_report *r, const char *message);
void schema_report_print(struct schema_report *r);
/* One JSON object; times in microseconds. */
void schema_report_print_json(struct schema_report *r);
void schema_report_free(struct schema_report *r);

#endif
