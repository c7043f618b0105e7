/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_rope.c - RoPE lengths of tasks. */
#include "engine/scheduler_rope.h"
#include "base/keyed_hash.h"
#include "engine/rope_variant.h"

uint32_t qr_scheduler_rope_variant(const struct qr_scheduler *s, uint32_t length)
{
    return s->params.model ? qr_rope_variant(s->params.model, length) : 0;
}

uint64_t qr_scheduler_key_variant(const struct qr_scheduler *s, const struct qr_task *task,
                                  uint32_t length)
{
    const uint32_t rope = qr_scheduler_rope_variant(s, length);
    return task->adapter_key ? qr_hash_u64(task->adapter_key, rope) | UINT64_C(1) << 63 : rope;
}

/* Every chunk of a prompt uses the frequencies of the whole prompt. With dynamic NTK scaling a
 * generated token has those of its own length, as when it was computed first; LongRoPE changes only
 * once, and its keys are then recomputed. */
uint32_t qr_scheduler_rope_length(const struct qr_scheduler *s, const struct qr_task *task,
                                  uint32_t position)
{
    if (!s->params.model || !qr_rope_is_dynamic(s->params.model))
        return task->n_tokens;
    return position < task->n_prompt ? task->n_prompt : position + 1;
}

uint32_t qr_scheduler_same_rope_length(const struct qr_scheduler *s, const struct qr_task *task,
                                       uint32_t n)
{
    const uint32_t at = task->n_computed;
    if (!s->params.model || !qr_rope_is_dynamic(s->params.model))
        return n;
    if (at < task->n_prompt)
        return n < task->n_prompt - at ? n : task->n_prompt - at;
    return n ? 1 : 0;
}
