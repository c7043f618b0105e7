/* SPDX-License-Identifier: Apache-2.0 */
/* step_cost.h - measured seconds of a step, by its number of rows. */
#ifndef QR_ENGINE_STEP_COST_H
#define QR_ENGINE_STEP_COST_H
#include "engine/speculation/draft_depth.h"

enum { QR_STEP_COST_CLASSES = 12 }; /* about 1, 2, 4, ... 2048 rows */

/* Running averages. Steps of 2^i to 2^(i+1) - 1 rows share class i. */
struct qr_step_cost {
    struct {
        double rows, seconds; /* 0 rows = not measured */
        uint32_t last;        /* n_records of the last one in this class */
    } classes[QR_STEP_COST_CLASSES];
    uint32_t n_records;
};

void qr_step_cost_record(struct qr_step_cost *c, uint32_t rows, double seconds);

/* Seconds of a step of this many rows: measured, interpolated, or, beyond what was measured, by a
 * tenth more per doubling, so that larger steps are tried. 0 = nothing was measured. */
double qr_step_cost_estimate(const struct qr_step_cost *c, uint32_t rows);

/* Rows of the largest steps that were measured, on average; 0 = none. */
uint32_t qr_step_cost_max_rows(const struct qr_step_cost *c);

/* Forgets the sizes that did not occur among the last n_records records. */
void qr_step_cost_forget(struct qr_step_cost *c, uint32_t n_records);

/* Costs for a request in a step that decodes n_decoding requests: it has 1, 2, 4, ... rows, the
 * others one each. */
void qr_step_cost_of_rows(const struct qr_step_cost *c, uint32_t n_decoding,
                          struct qr_draft_costs *costs);

#endif
