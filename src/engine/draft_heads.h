/* SPDX-License-Identifier: Apache-2.0 */
/* draft_heads.h - the passes of heads of multi-token prediction that take turns (enum
 * qr_mtp_heads): head k drafts the token of number k, and the last head those behind it, too.
 *
 * Row i of head k reads the token at i + 1 + k and a hidden state x at i: the model's, or with
 * chained heads that of head k - 1 at i. Let n be the number of tokens of a request. Head k can
 * compute rows up to n - 2 - k for good. To draft, it also computes rows n - 1 - k to n - 2, whose
 * tokens are the draft so far, and draws from the last one; the next step overwrites them. So
 * all heads draft from one position, and each pass has the rows that are new to its head: those of
 * the last step, and k rows before them whose tokens were unknown.
 *
 * What these rows read was computed in earlier steps. It is kept per sequence: the last hidden
 * states of the model, or with chained heads a state of each head but the last.
 *
 * Behind the last head h, the token of number k > h is drafted from row n - 2 + k - h, where no
 * hidden state is known: the state that drafted the token before the one that x is to predict takes
 * its place, for it predicts the same token.
 *
 * The sequence of a request in the KV cache has the rows that all heads have computed for good. Its
 * tokens are those that the last head reads, so blocks in the prefix index depend on no others. */
#ifndef QR_ENGINE_DRAFT_HEADS_H
#define QR_ENGINE_DRAFT_HEADS_H
#include "engine/draft_model.h"

/* Of one sequence, in rows of it. */
struct qr_head_rows {
    bool planned;        /* it takes part in the passes of the step */
    uint32_t first, end; /* rows of the last pass */
    uint32_t out;        /* row of hidden_out that the first of them is */
    uint32_t known_end;  /* of rows with a hidden state and a next token */
};

struct qr_draft_heads {
    uint32_t n;
    bool chained;
    uint32_t n_sequences;
    size_t width;              /* floats of a hidden state */
    float *kept;               /* [n_sequences][n - 1][width], see above */
    float *drafted;            /* [n_sequences][n][width] states that drafted, token k at k % n */
    struct qr_head_rows *rows; /* [n_sequences] */
    uint32_t *computed;        /* [n_sequences][n] end of the rows that each head has for good */
};

/* Reserves the memory of d->heads, for the heads of d. */
quire_status qr_draft_heads_create(struct qr_draft_model *d, uint32_t n_sequences,
                                   const struct quire_allocator *allocator,
                                   struct quire_error *err);

/* Bytes that it allocates. */
uint64_t qr_draft_heads_bytes(const struct qr_draft_model *d, uint32_t n_sequences);
void qr_draft_heads_destroy(struct qr_draft_model *d, const struct quire_allocator *allocator);

/* Sets the state of a request's new sequence: all heads have the rows that it begins with. */
void qr_draft_heads_begin(struct qr_draft_model *d, const struct qr_request *r);

/* Rows that a sequence may lack behind a cached prefix, because no hidden state is known there:
 * those whose tokens were unknown when the prefix was computed, or were others. They are computed
 * with states of zeros. 0: none, as for a single head. */
uint32_t qr_draft_heads_gap(const struct qr_draft_model *d);

/* Rows of a request's sequence that the first head has computed for good. */
uint32_t qr_draft_heads_computed(const struct qr_draft_model *d, const struct qr_request *r);

/* All passes of a step: computes the rows of the last step, and drafts up to n_model_draft tokens
 * for every running request. */
void qr_draft_heads_run(struct quire_engine *e);

#endif
