/* SPDX-License-Identifier: Apache-2.0 */
/* eval_mtp.h - compares the logits of a head of multi-token prediction with reference tensors. */
#ifndef QUIRE_BENCH_EVAL_MTP_H
#define QUIRE_BENCH_EVAL_MTP_H
#include "eval_tally.h"

/* Adds the errors of mtp_logits.<n> [n - 1][vocab], if the reference has them: the head's logits at
 * the first n - 1 tokens of the prompt, of mtp_hidden.<n>, its states there, and of mtp_next.<n>,
 * the logits behind them of a head that reads its own states. The head is that of o->head, or of
 * `model`. Its steps have o->chunk tokens. Of several heads, head k > 0 has mtp_logits.<n>.<k>, at
 * the first n - 1 - k tokens, and mtp_hidden.<n>.<k>. */
quire_status tally_mtp(struct tally *t, struct eval_run *r, const struct eval_options *o,
                       const char *model, const struct tensor_file *golden, uint32_t n,
                       struct quire_error *err);

#endif
