/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_rope.h - lengths that select RoPE frequencies, where these depend on the sequence. */
#ifndef QR_ENGINE_SCHEDULER_ROPE_H
#define QR_ENGINE_SCHEDULER_ROPE_H
#include "engine/scheduler.h"

/* qr_rope_variant() of the scheduler's model; 0 without a model. */
uint32_t qr_scheduler_rope_variant(const struct qr_scheduler *s, uint32_t length);

/* The variant of the task's keys in the prefix cache, for a sequence of `length` tokens. */
uint64_t qr_scheduler_key_variant(const struct qr_scheduler *s, const struct qr_task *task,
                                  uint32_t length);

/* Length of the sequence that selects the RoPE frequencies of the task's token at `position`. */
uint32_t qr_scheduler_rope_length(const struct qr_scheduler *s, const struct qr_task *task,
                                  uint32_t position);

/* Number of the next n tokens of the task that share one RoPE length. */
uint32_t qr_scheduler_same_rope_length(const struct qr_scheduler *s, const struct qr_task *task,
                                       uint32_t n);

#endif
