/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_requests.h - engines and requests that draft with a head of multi-token prediction. */
#ifndef QUIRE_TEST_DRAFT_REQUESTS_H
#define QUIRE_TEST_DRAFT_REQUESTS_H
#include "engine/draft_model.h"
#include "engine_requests.h"
#include "test_dir.h"
#include <math.h>

/* Parameters of an engine over the model in `dir`, with its own head. */
static inline struct quire_engine_params mtp_params(void)
{
    struct quire_engine_params p = params_for("");
    p.model_path = dir;
    p.context_length = 256;
    p.max_draft_tokens = 64;
    p.max_requests = 32;
    p.target_itl = INFINITY; /* chunks do not depend on measured times */
    p.flags = QUIRE_ENGINE_MTP;
    return p;
}

static inline struct quire_engine_stats stats_of(struct quire_engine *e)
{
    struct quire_engine_stats s;
    quire_engine_stats_init(&s, sizeof s);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &s));
    return s;
}

static inline void assert_all_free(struct quire_engine *e)
{
    const struct qr_sequence_memory *memories[] = { &e->memory, &e->draft_model->memory };
    for (int i = 0; i < 2; i++)
        for (uint32_t g = 0; g < memories[i]->n_groups; g++) {
            struct quire_kv_group_config config;
            assert_status(QUIRE_OK, quire_kv_get_group(memories[i]->kv, g, &config, NULL));
            assert_int_equal(qr_sequence_blocks_available(memories[i], g), config.n_blocks);
        }
    assert_int_equal(e->draft_model->n_requests, 0);
}

static inline struct quire_request_params fixed(const int32_t *tokens, size_t n,
                                                uint32_t max_tokens,
                                                const struct quire_sampling_params *sampling)
{
    struct quire_request_params p = greedy("", max_tokens);
    p.text = NULL;
    p.text_size = 0;
    p.tokens = tokens;
    p.n_tokens = n;
    p.sampling = sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
    return p;
}

static inline struct quire_sampling_params sampling_of(float temperature, uint64_t number)
{
    struct quire_sampling_params s;
    quire_sampling_params_init(&s, sizeof s);
    s.temperature = temperature;
    s.seed = number;
    s.presence_penalty = temperature > 0 ? 0 : 1; /* keeps prompt lookup from finding repeats */
    return s;
}

enum { PROMPT = 150 };
static int32_t prompt[PROMPT];

static inline void make_prompt(uint32_t number)
{
    for (uint32_t i = 0; i < PROMPT; i++)
        prompt[i] = (int32_t)(3 + (i * 7 + i / 11 * number) % 251);
}

/* The engine answers as without drafts at every depth and temperature; the model accepts a part of
 * what its head drafts. */
static inline void check_requests(struct quire_engine *e)
{
    static struct result plain, drafted;
    for (uint32_t i = 0; i < 6; i++) {
        make_prompt(i);
        const struct quire_sampling_params s = sampling_of(i ? 1.0f : 0, i);
        struct quire_request_params p = fixed(prompt, 20 + 21 * i, 60, &s);
        generate(e, &p, &plain);
        p.draft_tokens = 1 + i;
        p.flags |= i % 2 ? QUIRE_REQUEST_NO_REUSE : 0;
        generate(e, &p, &drafted);
        assert_same(&plain, &drafted);
    }
    const struct quire_engine_stats stats = stats_of(e);
    assert_true(stats.model_accepted_tokens > 0);
    assert_true(stats.model_accepted_tokens < stats.model_drafted_tokens);
    assert_all_free(e);
}

/* The same for many requests at a time, in chunks, with little memory for them and, of
 * draft_cache_tokens, for the head: sequences are preempted, take prefixes from both caches or from
 * one of them alone, and lack memory. */
static inline void check_many_requests(struct quire_engine_params ep)
{
    enum { N = 12 };
    static struct result plain[N], drafted[N];
    ep.max_step_tokens = 32;
    ep.max_seqs = 4;
    ep.block_size = 16;
    ep.cache_tokens = 512;
    struct quire_engine *e = open_with(&ep);
    for (int drafts = 0; drafts < 2; drafts++) {
        quire_request_id ids[N];
        for (uint32_t i = 0; i < N; i++) {
            make_prompt(i / 3);
            const struct quire_sampling_params s = sampling_of(i % 2 ? 1.0f : 0, i);
            struct quire_request_params p = fixed(prompt, 40 + 9 * i, 30 + i, &s);
            p.flags = QUIRE_REQUEST_IGNORE_EOS;
            p.flags |= i % 3 ? QUIRE_REQUEST_FIXED_DRAFT : 0;
            p.draft_tokens = drafts ? 1 + i % 5 : 0;
            ids[i] = submit(e, &p);
        }
        run_to_completion(e, ids, N, drafts ? drafted : plain);
    }
    for (int i = 0; i < N; i++)
        assert_same(&plain[i], &drafted[i]);
    assert_true(stats_of(e).model_accepted_tokens > 0);
    assert_all_free(e);
    quire_engine_close(e);
}

/* Both for a head with a KV cache of its own, once with little memory in it. */
static inline void check_head(struct quire_engine_params ep)
{
    struct quire_engine *e = open_with(&ep);
    assert_true(e->info.draft_weight_bytes > 0 && e->info.draft_kv_bytes > 0);
    check_requests(e);
    quire_engine_close(e);
    for (int small = 0; small < 2; small++) {
        ep.draft_cache_tokens = small ? 256 : 1024;
        check_many_requests(ep);
    }
}

#endif
