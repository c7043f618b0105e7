/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - the rules by which a query sees keys. */
#include "attention/keys.h"

static bool is_causal(const struct quire_attention_config *c, const struct qr_plan_seq *s)
{
    return s->override_causal && c->kind == QUIRE_ATTENTION_DECODER ? s->causal : c->causal != 0;
}

/* Keys that causality, windows and chunks leave to a query at pos. Both ends rise with pos. */
static struct qr_key_range by_rules(const struct quire_attention_config *c,
                                    const struct qr_plan_seq *s, uint32_t pos)
{
    struct qr_key_range r = { 0, c->kind == QUIRE_ATTENTION_CROSS ? s->encoder_len : s->len };
    if (c->window_left >= 0 && pos > (uint32_t)c->window_left)
        r.lo = pos - (uint32_t)c->window_left;
    if (is_causal(c, s) && pos + 1 < r.hi)
        r.hi = pos + 1;
    if (c->window_right >= 0 && (uint64_t)pos + (uint32_t)c->window_right + 1 < r.hi)
        r.hi = pos + (uint32_t)c->window_right + 1;
    if (c->chunk_size) {
        const uint32_t begin = pos - pos % c->chunk_size;
        r.lo = begin > r.lo ? begin : r.lo;
        if ((uint64_t)begin + c->chunk_size < r.hi)
            r.hi = begin + c->chunk_size;
    }
    if (r.lo > r.hi) /* past the end of an encoder */
        r.lo = r.hi;
    return r;
}

struct qr_token_keys qr_token_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t token)
{
    struct qr_token_keys k = { .pos = qr_plan_first_pos(s) + token };
    k.range = by_rules(c, s, k.pos);
    return k;
}

struct qr_key_range qr_tokens_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t first, uint32_t last)
{
    const struct qr_key_range r = { qr_token_keys(c, s, first).range.lo,
                                    qr_token_keys(c, s, last).range.hi };
    return r.lo < r.hi ? r : (struct qr_key_range){ 0, 0 };
}
