/* SPDX-License-Identifier: Apache-2.0 */
/* metric_set.h - values of the metrics of metrics.def, and their text in Prometheus' format. */
#ifndef QUIRE_SERVE_METRIC_SET_H
#define QUIRE_SERVE_METRIC_SET_H
#include "text.h"
#include <stdbool.h>
#include <stdint.h>

enum metric_id {
#define METRIC(id, type, name, help) METRIC_##id,
#include "metrics.def"
#undef METRIC
    N_METRICS
};

enum {
    MAX_SERIES = 512,      /* time series of one metric; samples of further ones are dropped */
    MAX_LABEL_BYTES = 200, /* of a value, which is cut */
    LABELS_BYTES = 1024,
};

/* Labels of a series in the text format without the braces: model="a",source="lookup". */
struct metric_labels {
    char text[LABELS_BYTES];
};

/* At most two labels; name2 and value2 may be NULL. Values are UTF-8. */
struct metric_labels metric_labels(const char *name, const char *value, const char *name2,
                                   const char *value2);

struct metric_family {
    struct series *series; /* [n] */
    uint32_t n;
};

/* All zeros is the empty set. A sample is dropped if there is no memory for its series. */
struct metric_set {
    struct metric_family families[N_METRICS];
};

void metric_set_free(struct metric_set *m);

/* Each takes labels, or NULL for a metric without labels. Adds to a counter; sets a counter or a
 * gauge; adds a value to a histogram. */
void metric_add(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                double value);
void metric_put(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                double value);
void metric_observe(struct metric_set *m, enum metric_id id, const struct metric_labels *labels,
                    double value);

/* Whether a metric has a series with these labels, and the number of its series. */
bool metric_has(const struct metric_set *m, enum metric_id id, const struct metric_labels *labels);
uint32_t metric_count(const struct metric_set *m, enum metric_id id);

/* Removes all series of a metric. */
void metric_clear(struct metric_set *m, enum metric_id id);

/* Adds the text of all metrics that have series. */
void metric_set_print(const struct metric_set *m, struct text *out);

#endif
