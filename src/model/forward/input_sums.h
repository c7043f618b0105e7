/* SPDX-License-Identifier: Apache-2.0 */
/* input_sums.h - sums of squares of what enters the matrices of a model, column by column: how much
 * an error in that column of the weights matters (an importance matrix). */
#ifndef QR_MODEL_FORWARD_INPUT_SUMS_H
#define QR_MODEL_FORWARD_INPUT_SUMS_H
#include "model/forward/types.h"

struct qr_input_sums;

/* For all matrices of the model, zero. QUIRE_E_NOMEM. */
quire_status qr_input_sums_create(const struct quire_model *model, struct qr_input_sums **out,
                                  struct quire_error *err) QUIRE_MUST_CHECK;
void qr_input_sums_free(struct qr_input_sums *sums); /* NULL is a no-op */

/* Steps of the context add to sums from now on; NULL: to none. No step runs meanwhile. */
void qr_input_sums_attach(struct quire_context *context, struct qr_input_sums *sums);

/* The sums of a matrix, [w->k], and the number of rows that entered it. NULL: no such matrix. */
const float *qr_input_sums_get(const struct qr_input_sums *sums, const struct qr_packed *w,
                               uint64_t *n_rows);

/* ---- For the forward pass. All threads call these; the first one adds. ---- */

/* Adds rows[n][k], which enter the n_w matrices w; entries may be NULL, and experts are skipped. */
void qr_input_sums_add(const struct qr_step *s, const struct qr_packed *const *w, int n_w,
                       const float *rows, size_t n, const struct quire_team *team);
/* Adds the rows of a mixture of experts, [places][k], to the experts of a role. */
void qr_input_sums_add_places(const struct qr_step *s, const struct qr_model_layer *layer,
                              enum qr_weight_role role, const float *rows,
                              const struct quire_team *team);

#endif
