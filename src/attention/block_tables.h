/* SPDX-License-Identifier: Apache-2.0 */
/* block_tables.h - validation and copying of the block table entries that a batch uses. */
#ifndef QR_ATTENTION_BLOCK_TABLES_H
#define QR_ATTENTION_BLOCK_TABLES_H
#include "attention/types.h"

/* Starts a new generation of plan->block_marks, which invalidates all marks. Returns it. */
uint32_t qr_block_marks_new_generation(struct quire_plan *plan);

/* Validates a KV group's table arguments, but no entries. */
quire_status qr_block_tables_check_args(const struct quire_attention_batch_group *t,
                                        uint32_t n_seqs, uint32_t kv_group,
                                        struct quire_error *err);

/* Validates the entries that sequence i uses and adds their number to *used. Writes their place to
 * g->staged_seq_blocks and leaves the batch that the plan holds unchanged. */
quire_status qr_block_tables_check(struct quire_plan *plan, const struct qr_plan_group *g,
                                   const struct quire_attention_batch_group *t, uint32_t i,
                                   const struct qr_attn_seq *s,
                                   const struct quire_sparse_list *lists, size_t *used,
                                   struct quire_error *err);

/* Copies the validated entries of the plan's sequences into the plan. Cannot fail. */
void qr_block_tables_copy(struct quire_plan *plan, struct qr_plan_group *g,
                          const struct quire_attention_batch_group *t);

#endif
