/* SPDX-License-Identifier: Apache-2.0 */
/* eval_encoder.h - encoders and encoder-decoders against reference tensors. */
#ifndef QUIRE_BENCH_EVAL_ENCODER_H
#define QUIRE_BENCH_EVAL_ENCODER_H
#include "eval_tally.h"

/* Compares all outputs of an encoder with the tensors of a reference file. */
quire_status tally_encoder(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           struct quire_error *err);
/* Compares encoder states, logits and greedy tokens of an encoder-decoder. */
quire_status tally_seq2seq(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           const struct tolerance *tolerance, struct quire_error *err);

#endif
