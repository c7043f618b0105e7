/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - validation of attention calls. */
#ifndef QR_ATTENTION_FORWARD_H
#define QR_ATTENTION_FORWARD_H
#include "attention/key_selection.h"
#include "attention/score_bias.h"
#include "attention/tensor.h"
#include <quire/attention.h>

/* Memory that a call writes; lse is empty if none is requested. */
struct qr_attention_extents {
    struct qr_extent out, lse;
};

/* quire_attention_check for a batch of n_tokens, which may differ from the plan's. */
quire_status qr_attention_check_args(const struct quire_plan *plan, size_t n_tokens,
                                     const struct quire_attention_args *args,
                                     struct qr_attention_extents *extents, struct quire_error *err);

/* quire_attention_part with a selection (NULL: all keys) and a bias of scores (NULL: none). Both
 * functions give the same bits where a selection has every visible key. */
void qr_attention_part_with(struct quire_plan *plan, const struct quire_attention_args *args,
                            const struct qr_key_selection *selection,
                            const struct qr_score_bias *bias, const struct quire_team *team);

#endif
