/* SPDX-License-Identifier: Apache-2.0 */
/* metric_set.c - values of metrics, and their text in Prometheus' format, version 0.0.4. */
#include "metric_set.h"
#include <stdlib.h>
#include <string.h>

enum metric_type { COUNTER, GAUGE, TOKEN_SECONDS, REQUEST_SECONDS };

static const struct {
    const char *name, *help;
    enum metric_type type;
} table[] = {
#define METRIC(id, type, name, help) { name, help, type },
#include "metrics.def"
#undef METRIC
};

/* Upper bounds of buckets in seconds. Readers notice differences of latency between tokens from
 * about 10 ms; whole requests last from milliseconds (cached, short) to minutes. */
static const double token_bounds[] = { 0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04,
                                       0.05,  0.075,  0.1,   0.15,   0.2,  0.3,   0.5,  1,    2.5 };
static const double request_bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                         1,     2.5,    5,     10,   30,    60,   120, 300,  600 };
enum { N_BOUNDS = sizeof token_bounds / sizeof token_bounds[0] };
_Static_assert(sizeof request_bounds == sizeof token_bounds, "both have N_BOUNDS");

/* Values per bucket; the last bucket has no bound. */
struct histogram {
    uint64_t buckets[N_BOUNDS + 1];
    double sum;
};

struct series {
    char *labels;
    double value;
    struct histogram *histogram; /* NULL for other types */
};

static const double *bounds(enum metric_id id)
{
    return table[id].type == TOKEN_SECONDS ? token_bounds : request_bounds;
}

static bool is_histogram(enum metric_id id) { return table[id].type >= TOKEN_SECONDS; }

/* ---- Labels ---- */

static char *copy_escaped(char *out, const char *value)
{
    size_t n = strlen(value);
    if (n > MAX_LABEL_BYTES) {
        n = MAX_LABEL_BYTES;
        while (n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80) /* inside a character */
            n--;
    }
    for (const char *end = value + n; value < end; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n')
            *out++ = '\\';
        *out++ = (char)(*value == '\n' ? 'n' : *value);
    }
    return out;
}

static char *add_label(char *out, const char *name, const char *value)
{
    out = stpcpy(stpcpy(out, name), "=\"");
    out = copy_escaped(out, value);
    return stpcpy(out, "\"");
}

struct metric_labels metric_labels(const char *name, const char *value, const char *name2,
                                   const char *value2)
{
    struct metric_labels labels = { 0 };
    _Static_assert(sizeof labels.text > 2 * (2 * MAX_LABEL_BYTES + 40), "room for two labels");
    char *end = add_label(labels.text, name, value);
    if (name2 != NULL)
        add_label(stpcpy(end, ","), name2, value2);
    return labels;
}

/* ---- Series ---- */

static struct series *find(const struct metric_set *m, enum metric_id id, const char *labels)
{
    const struct metric_family *f = &m->families[id];
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->series[i].labels, labels) == 0)
            return &f->series[i];
    return NULL;
}

static const char *text_of(const struct metric_labels *labels)
{
    return labels ? labels->text : "";
}

/* Finds a series or creates it; NULL: out of memory, or too many. */
static struct series *get(struct metric_set *m, enum metric_id id,
                          const struct metric_labels *labels)
{
    struct metric_family *f = &m->families[id];
    struct series *s = find(m, id, text_of(labels));
    if (s != NULL || f->n == MAX_SERIES)
        return s;
    struct series *grown = realloc(f->series, (f->n + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    f->series = grown;
    s = &grown[f->n];
    *s = (struct series){ .labels = strdup(text_of(labels)) };
    if (is_histogram(id))
        s->histogram = calloc(1, sizeof *s->histogram);
    if (s->labels == NULL || (is_histogram(id) && s->histogram == NULL)) {
        free(s->labels);
        free(s->histogram);
        return NULL;
    }
    f->n++;
    return s;
}

void metric_add(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                double value)
{
    struct series *s = get(m, id, labels);
    if (s != NULL)
        s->value += value;
}

void metric_put(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                double value)
{
    struct series *s = get(m, id, labels);
    if (s != NULL)
        s->value = value;
}

void metric_observe(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                    double value)
{
    struct series *s = get(m, id, labels);
    if (s == NULL)
        return;
    int i = 0;
    while (i < N_BOUNDS && value > bounds(id)[i])
        i++;
    s->histogram->buckets[i]++;
    s->histogram->sum += value;
}

bool metric_has(const struct metric_set *m, enum metric_id id, const struct metric_labels *labels)
{
    return find(m, id, text_of(labels)) != NULL;
}

uint32_t metric_count(const struct metric_set *m, enum metric_id id) { return m->families[id].n; }

void metric_clear(struct metric_set *m, enum metric_id id)
{
    struct metric_family *f = &m->families[id];
    for (uint32_t i = 0; i < f->n; i++) {
        free(f->series[i].labels);
        free(f->series[i].histogram);
    }
    free(f->series);
    *f = (struct metric_family){ .n = 0 };
}

void metric_set_free(struct metric_set *m)
{
    for (int id = 0; id < N_METRICS; id++)
        metric_clear(m, (enum metric_id)id);
}

/* ---- Text ---- */

static void print_sample(struct text *out, const char *name, const char *suffix, const char *labels,
                         double value)
{
    text_format(out, "%s%s", name, suffix);
    if (labels[0] != '\0')
        text_format(out, "{%s}", labels);
    text_format(out, " %.15g\n", value);
}

static void print_histogram(struct text *out, enum metric_id id, const struct series *s)
{
    const char *name = table[id].name, *comma = s->labels[0] != '\0' ? "," : "";
    uint64_t count = 0;
    for (int i = 0; i <= N_BOUNDS; i++) {
        count += s->histogram->buckets[i];
        text_format(out, "%s_bucket{%s%sle=\"", name, s->labels, comma);
        if (i < N_BOUNDS)
            text_format(out, "%g\"} %llu\n", bounds(id)[i], (unsigned long long)count);
        else
            text_format(out, "+Inf\"} %llu\n", (unsigned long long)count);
    }
    print_sample(out, name, "_sum", s->labels, s->histogram->sum);
    print_sample(out, name, "_count", s->labels, (double)count);
}

void metric_set_print(const struct metric_set *m, struct text *out)
{
    static const char *const types[] = { "counter", "gauge", "histogram", "histogram" };
    for (int id = 0; id < N_METRICS; id++) {
        const struct metric_family *f = &m->families[id];
        const char *name = table[id].name;
        if (f->n == 0)
            continue;
        text_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, table[id].help, name,
                    types[table[id].type]);
        for (uint32_t i = 0; i < f->n; i++)
            if (is_histogram((enum metric_id)id))
                print_histogram(out, (enum metric_id)id, &f->series[i]);
            else
                print_sample(out, name, "", f->series[i].labels, f->series[i].value);
    }
}
