/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - which keys the queries of a sequence see. */
#ifndef QUIRE_ATTENTION_KEYS_H
#define QUIRE_ATTENTION_KEYS_H
#include <quire/attention.h>
#include <stdbool.h>

/* Keys [lo, hi); lo == hi: none. */
struct qr_key_range {
    uint32_t lo, hi;
};

/* A sequence of the batch. */
struct qr_plan_seq {
    uint32_t first_token, n_tokens; /* rows of q; the last tokens of the sequence */
    uint32_t len;
    uint32_t encoder_len;         /* keys of its encoder */
    bool override_causal, causal; /* the sequence's own flag */
};

/* Position of the sequence's first query. */
static inline uint32_t qr_plan_first_pos(const struct qr_plan_seq *s)
{
    return s->len - s->n_tokens;
}

/* What the query of one token sees. */
struct qr_token_keys {
    uint32_t pos;
    struct qr_key_range range;
};
struct qr_token_keys qr_token_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t token);

/* The range from the first to the last key that some token of first .. last sees. */
struct qr_key_range qr_tokens_keys(const struct quire_attention_config *c,
                                   const struct qr_plan_seq *s, uint32_t first, uint32_t last);

#endif
