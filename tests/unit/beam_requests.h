/* SPDX-License-Identifier: Apache-2.0 */
/* beam_requests.h - fixtures of the beam search tests. */
#ifndef QUIRE_BEAM_REQUESTS_H
#define QUIRE_BEAM_REQUESTS_H
#include "engine_requests.h"

enum { MAX_WIDTH = 8, PROMPT = 37 };

static int32_t prompt[PROMPT];

static inline void fill_prompt(uint32_t seed)
{
    for (uint32_t i = 0; i < PROMPT; i++) {
        seed = seed * 1664525u + 1013904223u;
        prompt[i] = 3 + (int32_t)((seed >> 8) % 250);
    }
}

static inline struct quire_engine *open_small(const char *model, uint32_t max_seqs)
{
    struct quire_engine_params ep = params_for(model);
    ep.context_length = 128;
    ep.block_size = 16;
    ep.max_seqs = max_seqs;
    ep.max_requests = 64;
    return open_with(&ep);
}

static inline struct quire_request_params search(uint32_t width, uint32_t max_tokens)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.tokens = prompt;
    p.n_tokens = PROMPT;
    p.max_tokens = max_tokens;
    p.sampling = &greedy_sampling;
    p.beam_width = p.n = width;
    return p;
}

static inline void assert_all_free(struct quire_engine *e)
{
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        assert_int_equal(qr_sequence_blocks_available(&e->memory, g), config.n_blocks);
    }
    assert_int_equal(quire_engine_active_count(e), 0);
    assert_int_equal(e->n_free, e->n_requests);
}

/* Polls the events of one search; returns when all its answers have ended. */
static inline void take_answers(struct quire_engine *e, quire_request_id id, struct result *answers,
                                uint32_t n)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t i = 0; i < n; i++)
        answers[i].size = answers[i].n_tokens = answers[i].text[0] = 0;
    for (uint32_t done = 0; done < n; done += ev.kind == QUIRE_EVENT_DONE) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        assert_true(ev.kind != QUIRE_EVENT_NONE && ev.choice < n);
        append_event(&ev, &answers[ev.choice]);
        answers[ev.choice].done = ev;
        answers[ev.choice].usage = *ev.usage;
    }
    assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
}

static inline void run_search(struct quire_engine *e, const struct quire_request_params *p,
                              struct result *answers)
{
    take_answers(e, submit(e, p), answers, p->n ? p->n : 1);
    assert_all_free(e);
}

#endif
