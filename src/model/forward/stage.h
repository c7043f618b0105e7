/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - how the members of a team share a step: the rows each of them keeps, and the blocks of a product.
 *
 * A step of few rows is mostly reading weights, and what lies between the products is less work than waiting for each
 * other. So every member keeps the residual stream of all rows itself, and makes norms and views of inputs for itself.
 * A step of many rows has one residual stream; a member keeps some of its rows from layer to layer. */
#ifndef QR_MODEL_FORWARD_STAGE_H
#define QR_MODEL_FORWARD_STAGE_H
#include "base/work_steal.h"
#include "linear/linear.h"
#include "model/forward/context.h"

enum {
    QR_FEW_ROWS = 4,
    QR_TILE_ROWS =
        128, /* of a block whose outputs are worked on at once; then it is 64 outputs wide */
    QR_TILE = QR_TILE_ROWS * 64,
};

/* What a member keeps: rows [begin, end) of x and h are its own; it may read no others of them. */
struct qr_member {
    float *x, *h;
    size_t begin, end;
    void *views; /* for qr_member_input: its own or, with many rows, all members' */
    /* its own in any step */
    float *tile_a, *tile_b; /* [QR_TILE] */
    float *few_h;           /* [QR_FEW_ROWS][hidden], h if rows are few */
    void *few_views;        /* of these, or of other inputs of few rows */
};
struct qr_member qr_member_of(const struct qr_step *s, const struct quire_team *team);

/* Makes the views of src [n_tokens][k] that the weights w[n] need. The member can read its rows of src. */
void qr_member_input(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                     int n, const float *src, const struct quire_team *team);

/* The rows a member keeps are now read by others. */
void qr_member_publish(const struct qr_step *s, const struct quire_team *team);

/* The outputs of a product in blocks, for all members of a team. A barrier must lie between two of them. */
struct qr_blocks {
    struct qr_share share;
    size_t n, m, width, cuts;
};
/* n outputs of m rows of k inputs; a block is a multiple of `unit` outputs wide, except for the last. */
struct qr_blocks qr_blocks_begin(const struct qr_step *s, size_t n, size_t k, size_t unit, size_t m,
                                 const struct quire_team *team);
bool qr_blocks_next(struct qr_blocks *blocks, struct qr_linear_block *b);

/* out[act->m][w->n] = act . w + bias by blocks. The caller has a barrier before and after. */
void qr_project_blocks(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w,
                       const float *bias, float *out, const struct quire_team *team);

#endif
