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

#endif
