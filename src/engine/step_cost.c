/* SPDX-License-Identifier: Apache-2.0 */
/* step_cost.c - measured seconds of a step, by its number of rows. */
#include "engine/step_cost.h"
#include <math.h>

static uint32_t class_of(uint32_t rows)
{
    uint32_t i = 0;
    while (i + 1 < QR_STEP_COST_CLASSES && rows >> (i + 1))
        i++;
    return i;
}

void qr_step_cost_record(struct qr_step_cost *c, uint32_t rows, double seconds)
{
    if (rows == 0)
        return;
    const uint32_t i = class_of(rows);
    const double weight = c->classes[i].rows > 0 ? 0.1 : 1;
    c->classes[i].rows += weight * (rows - c->classes[i].rows);
    c->classes[i].seconds += weight * (seconds - c->classes[i].seconds);
    c->classes[i].last = ++c->n_records;
}

uint32_t qr_step_cost_max_rows(const struct qr_step_cost *c)
{
    double rows = 0;
    for (uint32_t i = 0; i < QR_STEP_COST_CLASSES; i++)
        rows = c->classes[i].rows > rows ? c->classes[i].rows : rows;
    return rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

void qr_step_cost_forget(struct qr_step_cost *c, uint32_t n_records)
{
    for (uint32_t i = 0; i < QR_STEP_COST_CLASSES; i++)
        if (c->n_records - c->classes[i].last >= n_records)
            c->classes[i].rows = 0;
}

double qr_step_cost_estimate(const struct qr_step_cost *c, uint32_t rows)
{
    double low_rows = 0, low = 0;
    for (uint32_t i = 0; i < QR_STEP_COST_CLASSES; i++) {
        const double at = c->classes[i].rows, seconds = c->classes[i].seconds;
        if (at == 0)
            continue;
        if (at >= rows && low_rows == 0)
            return seconds;
        if (at >= rows)
            return low + (seconds - low) * (rows - low_rows) / (at - low_rows);
        low_rows = at;
        low = seconds;
    }
    return low_rows > 0 ? low * pow(1.1, log2(rows / low_rows)) : 0;
}

void qr_step_cost_of_rows(const struct qr_step_cost *c, uint32_t n_decoding,
                          struct qr_draft_costs *costs)
{
    *costs = (struct qr_draft_costs){ 0 };
    const uint32_t others = n_decoding ? n_decoding - 1 : 0;
    for (uint32_t i = 0; i < QR_DRAFT_COSTS; i++) {
        costs->step_seconds[i] = qr_step_cost_estimate(c, others + (1u << i));
        if (costs->step_seconds[i] > 0)
            costs->n_costs = i + 1;
    }
}
