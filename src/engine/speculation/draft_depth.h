/* SPDX-License-Identifier: Apache-2.0 */
/* draft_depth.h - how many tokens a request drafts per step, from measured acceptance and cost. */
#ifndef QR_ENGINE_SPECULATION_DRAFT_DEPTH_H
#define QR_ENGINE_SPECULATION_DRAFT_DEPTH_H
#include <stdint.h>

/* Tokens of an answer do not depend on the depth (verify.h), so measured times may choose it. The
 * functions are pure arithmetic: equal inputs give equal depths. */

enum {
    QR_DRAFT_COSTS = 6,                                   /* steps of 1, 2, 4, .. 32 rows */
    QR_DRAFT_MAX_DEPTH = (1 << (QR_DRAFT_COSTS - 1)) - 1, /* a draft of d tokens takes d + 1 rows */
    QR_DRAFT_LOOKUP_CLASSES = 6,
    QR_DRAFT_MODEL_CLASS = QR_DRAFT_LOOKUP_CLASSES, /* drafts of the draft model */
    QR_DRAFT_CLASSES,
};

/* Cost of a step in which the request has 1, 2, 4, ... rows, the rest of the batch unchanged. */
struct qr_draft_costs {
    double step_seconds[QR_DRAFT_COSTS]; /* [i]: of 2^i rows; between them linear */
    uint32_t n_costs; /* measured ones, at the front; depths that need more rows are not chosen */
    double draft_seconds; /* of one drafted token, not negative; about 0 for prompt lookup */
    double block_seconds; /* of a pass that drafts all tokens; 0: there is none */
};

/* Drafts of one class, by position. Sums with exponentially decreasing weights. */
struct qr_draft_acceptance {
    double tried[QR_DRAFT_MAX_DEPTH];    /* drafts whose tokens before position i were accepted */
    double accepted[QR_DRAFT_MAX_DEPTH]; /* those of them whose token i was accepted */
    double streak_probability; /* of the rejections in a row of position 0 up to now, if they came
                                * from the acceptance measured before them; 1 = none */
    uint32_t skipped;          /* steps in a row without a draft although there was one */
    uint32_t probe_interval;   /* of these steps, before the next probe */
};

/* Largest depth whose cost is known; 0: none is. */
uint32_t qr_draft_depth_known(const struct qr_draft_costs *costs);

/* Seconds of a step that verifies a draft of so many tokens, at most qr_draft_depth_known(). */
double qr_draft_step_seconds(const struct qr_draft_costs *costs, uint32_t depth);

struct qr_draft_depth {
    /* A class groups drafts of similar acceptance, such as matches of similar length. */
    struct qr_draft_acceptance classes[QR_DRAFT_CLASSES];
    double reserve; /* what drafts saved so far, in steps of one row, plus the allowed loss */
};

void qr_draft_depth_init(struct qr_draft_depth *d);

/* Class of a draft from prompt lookup by the length of its match, below QR_DRAFT_LOOKUP_CLASSES. */
uint32_t qr_draft_class(uint32_t match_length);

/* Returns the depth, 0 .. `available`, with most expected tokens per second. 0 = no draft. Where
 * drafts of the class lose, it is 0 but for probes at growing intervals.
 *
 * A draft is chosen only if the reserve covers its cost should all of it be rejected. Therefore n
 * tokens take at most 1.02 n + 0.5 times the time of a step of one row, whatever the text, provided
 * that the costs hold. */
uint32_t qr_draft_depth_choose(const struct qr_draft_depth *d, const struct qr_draft_costs *costs,
                               uint32_t draft_class, uint32_t available);

/* Records that there was a draft of the class and one of another class was preferred. */
void qr_draft_depth_skip(struct qr_draft_depth *d, uint32_t draft_class);

/* Records a decode step: `available` as in the choice, `drafted` tokens were verified and the first
 * `accepted` of them accepted. */
void qr_draft_depth_record(struct qr_draft_depth *d, const struct qr_draft_costs *costs,
                           uint32_t draft_class, uint32_t available, uint32_t drafted,
                           uint32_t accepted);

#endif
