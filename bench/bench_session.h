/* SPDX-License-Identifier: Apache-2.0 */
/* bench_session.h - an open model with a KV cache filled to a given depth. */
#ifndef QUIRE_BENCH_BENCH_SESSION_H
#define QUIRE_BENCH_BENCH_SESSION_H
#include "bench_cache.h"
#include "bench_measure.h"
#include <quire/adapter.h>
#include <quire/model.h>

enum { BENCH_ADAPTERS = 4 };

/* Token ids are a function of sequence and position, so a position computed twice has the same
 * keys and values. */
struct bench_session {
    struct bench_machine *machine; /* borrowed */
    struct quire_model *model;
    struct quire_model_info info;
    struct quire_kv_cache *kv;       /* NULL in models without attention layers */
    struct quire_state_pool *states; /* NULL in models without recurrent layers */
    int32_t *state_slots;            /* [max_seqs], then one whose state stays zero */
    struct quire_context *context;
    struct quire_kv_group_config groups[BENCH_MAX_GROUPS];
    uint32_t n_groups, max_seqs, max_len, chunk;
    struct bench_tables tables;
    int32_t *ids, *starts, *lens;
    int64_t *slots;
    float *logits, *other_logits;                   /* [max_seqs][vocab] */
    struct quire_adapter *adapters[BENCH_ADAPTERS]; /* copies of one adapter, or NULL */
    int32_t *adapter_index;                         /* [max_seqs] */
    bool use_adapters;                              /* in the next steps */
};

struct bench_session_params {
    const char *path, *isa, *pack_cache, *lora;
    enum quire_compute compute;
    enum quire_kv_dtype k_type, v_type;
    uint32_t max_seqs, max_len, depth; /* depth: cached tokens per sequence, <= max_len */
    uint32_t chunk;                    /* prompt tokens per step */
    bool shuffle, bf16_states;
    uint32_t seed;
};

/* Opens a session. Fills the cache with random rows: prefill of a deep cache would take minutes,
 * and the time of no kernel depends on the values. Returns 0, or an exit code with a message on
 * stderr. */
int bench_session_open(struct bench_session *s, const struct bench_session_params *p,
                       struct bench_machine *m);
void bench_session_close(struct bench_session *s);

/* Sets the states of all sequences to zero, which stands for a state at any depth. Steps at
 * position 0 do that themselves; those at a depth would continue the sequence of the step
 * before. */
quire_status bench_session_reset_states(struct bench_session *s, struct quire_error *err);

/* Prefills positions [depth, depth + n) of sequence 0 in chunks of at most `chunk` tokens;
 * logits [vocab] of the last position. */
quire_status bench_session_prompt(struct bench_session *s, uint32_t depth, uint32_t n,
                                  uint32_t chunk, float *logits, struct quire_error *err);
/* Runs one decode step: one token at `position` of each of n_seqs sequences; logits
 * [n_seqs][vocab]. */
quire_status bench_session_decode(struct bench_session *s, uint32_t n_seqs, uint32_t position,
                                  float *logits, struct quire_error *err);

/* Operations and bytes of a prompt (n tokens) or of a decode step (n = 1) at a depth. */
void bench_session_need(const struct bench_session *s, uint32_t n_seqs, uint32_t depth, uint32_t n,
                        double need[BENCH_ROOFS]);

#endif
