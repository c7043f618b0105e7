/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.h - the steps of taking over a batch. Checks leave the batch that the plan holds as it
 * is; what takes over cannot fail. */
#ifndef QR_ATTENTION_PLAN_BUILD_H
#define QR_ATTENTION_PLAN_BUILD_H
#include "attention/plan.h"

/* Everything but the block tables. */
quire_status qr_batch_check(const struct quire_plan *plan, const struct quire_attention_batch *b,
                            struct quire_error *err);

/* Block lists of sequence i, one per KV head, or NULL. */
static inline const struct quire_sparse_list *qr_batch_lists(const struct quire_attention_batch *b,
                                                             const struct qr_plan_group *g,
                                                             uint32_t i)
{
    const struct quire_sparse_list *lists = b->sparse ? b->sparse[g->kv_group] : NULL;
    return lists ? lists + (size_t)i * g->config.n_kv_heads : NULL;
}

/* The tables as such. */
quire_status qr_tables_check_arg(const struct quire_attention_batch_group *t, uint32_t n_seqs,
                                 uint32_t kv_group, struct quire_error *err);

/* The entries that sequence i uses; adds their number to *used. Leaves in g->next where they go. */
quire_status qr_tables_check(struct quire_plan *plan, const struct qr_plan_group *g,
                             const struct quire_attention_batch_group *t, uint32_t i,
                             const struct qr_plan_seq *s, const struct quire_sparse_list *lists,
                             size_t *used, struct quire_error *err);

/* Copies the entries in use by the sequences that the plan holds, after their check. */
void qr_tables_take(struct quire_plan *plan, struct qr_plan_group *g,
                    const struct quire_attention_batch_group *t);

#endif
