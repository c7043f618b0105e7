/* SPDX-License-Identifier: Apache-2.0 */
/* cascade.h - spans of keys that several sequences hold in the same blocks, read once for all.
 *
 * A cascade is a run of spans and the sequences that share them. All queries of these sequences see
 * all its keys, and all rows of one sequence and KV head fit one query tile. Its rows are those of
 * its members, one after another. Every member has joins, one per KV head, where the states of the
 * shared spans meet those of the spans it has to itself; they are added up in span order there, so
 * that bits are those of a sequence alone. */
#ifndef QR_ATTENTION_CASCADE_H
#define QR_ATTENTION_CASCADE_H
#include "attention/divide.h"

enum { QR_CASCADE_NONE = UINT32_MAX };

struct qr_cascade {
    uint32_t first_member, n_members, n_rows;
    uint32_t span, end_span;
    uint32_t n_pieces; /* items per KV head, of similarly many spans */
};

/* A sequence's part in a cascade. */
struct qr_cascade_member {
    uint32_t seq;
    uint32_t cascade;   /* its index */
    uint32_t next;      /* the sequence's next part, in rising spans; QR_CASCADE_NONE */
    uint32_t join;      /* of KV head 0; those of other heads follow */
    uint32_t first_end; /* where the sequence's first item ends: spans before it share slot 0 */
};

/* A sequence in one span: the first of those that hold it in the same blocks leads their list. */
struct qr_cascade_link {
    uint32_t leader;  /* QR_CASCADE_NONE: it does not see the whole span */
    uint32_t next;    /* in the list */
    uint32_t last, n; /* of a leader: its list */
};

/* A sequence while cascades are looked for, span by span. */
struct qr_cascade_seq {
    uint32_t begin, end;                /* spans that all its queries see entirely */
    uint32_t next;                      /* sequence that is looked at after it */
    struct qr_cascade_link before, now; /* in the span before, and in this one */
    uint32_t changed, since; /* of a leader: last span that changed its list, and the one before */
    uint32_t first_member, last_member; /* the result: its parts */
};

/* Sets what a group needs for cascades: its limits, room in max_items, max_joins and the plan's
 * cascade_floats. False on overflow. */
bool qr_cascade_size(struct quire_plan *plan, struct qr_plan_group *g);

/* Finds the cascades of the batch that the plan holds, for one group. */
void qr_cascade_find(struct quire_plan *plan, struct qr_plan_group *g);

/* Cost that they save. */
uint64_t qr_cascade_saving(const struct qr_plan_group *g);

/* Cuts cascades into items, and makes the joins of their members. */
void qr_cascade_divide(struct qr_divider *d);

/* Whether a sequence is in some cascade. */
static inline bool qr_cascade_has(const struct quire_plan *plan, const struct qr_plan_group *g,
                                  uint32_t seq)
{
    return g->n_cascades && plan->cascade_seqs[seq].first_member != QR_CASCADE_NONE;
}

/* Items of the spans that such a sequence has to itself. */
void qr_cascade_emit_rest(struct qr_divider *d, uint32_t seq);

/* Computes one item of a cascade. */
struct qr_attention_call;
void qr_cascade_item(const struct qr_attention_call *call, const struct qr_plan_item *item);

#endif
