/* SPDX-License-Identifier: Apache-2.0 */
/* engine_jobs.h - random requests that run alone and in random schedules: their tokens and all
 * their logits must be equal. */
#ifndef QUIRE_ENGINE_JOBS_H
#define QUIRE_ENGINE_JOBS_H
#include "engine_requests.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_PROMPT = 160, MAX_ANSWER = 40, VOCAB_IDS = 250, JOB_CONTEXT = 256 };

/* A request of a test, and the hash of all its rows of logits. */
struct job {
    int32_t prompt[MAX_PROMPT];
    struct quire_request_params params;
    struct quire_sampling_params sampling;
    bool repeats; /* its answer repeats seven tokens, so that drafts are accepted */
    uint64_t hash;
    struct result result;
};

static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Hashes the model's logits, before it replaces those of answers that repeat. */
static inline quire_status hash_logits(void *user, const struct quire_logits_args *args)
{
    struct job *j = user;
    const uint32_t *words = (const uint32_t *)(const void *)args->logits;
    for (size_t i = 0; i < args->n_vocab; i++)
        j->hash = (j->hash ^ words[i]) * 0x9E3779B97F4A7C15u >> 1;
    for (size_t i = 0; j->repeats && i < args->n_vocab; i++)
        args->logits[i] = i == 20 + args->n_tokens % 7 ? 10.0f : -10.0f;
    return QUIRE_OK;
}

/* Prompts that share beginnings and repeat themselves; greedy and random sampling. */
static inline void make_jobs(struct job *jobs, uint32_t n_jobs, uint32_t seed)
{
    uint32_t random = seed;
    for (uint32_t i = 0; i < n_jobs; i++) {
        struct job *j = &jobs[i];
        *j = (struct job){ .hash = 1 };
        const uint32_t n = 1 + next_random(&random) % MAX_PROMPT;
        const uint32_t shared = next_random(&random) % 3 * 45, period = 3 + i % 9;
        for (uint32_t k = 0; k < n; k++)
            j->prompt[k] = 3 + (int32_t)((k < shared ? k * 7 : k % period * 31 + i) % VOCAB_IDS);
        quire_sampling_params_init(&j->sampling, sizeof j->sampling);
        j->sampling.temperature = i % 2 ? 0.9f : 0;
        j->sampling.seed = (uint64_t)i;
        quire_request_params_init(&j->params, sizeof j->params);
        j->params.tokens = j->prompt;
        j->params.n_tokens = n;
        j->params.max_tokens = 1 + next_random(&random) % MAX_ANSWER;
        j->params.flags = QUIRE_REQUEST_IGNORE_EOS;
        j->params.sampling = &j->sampling;
        j->params.logits_hook = hash_logits;
        j->params.logits_hook_user = j->params.user = j;
        j->params.priority = (int32_t)(next_random(&random) % 3);
        j->params.client = next_random(&random) % 3;
    }
}

/* ---- Models */

struct test_model {
    const char *gguf;
    struct quire_model *model; /* NULL: the file is opened by every engine */
    struct quire_tokenizer *tokenizer;
    char folder[64];
    uint32_t flags; /* QUIRE_ENGINE_* */
};

/* The tiny llama with dynamic NTK scaling: every length beyond the original context of 60 tokens
 * has frequencies of its own. */
static inline void open_dynamic_ntk(struct test_model *m)
{
    char command[2 * 4096 + 512];
    *m = (struct test_model){ .gguf = "llama-q8_0.gguf", .folder = "/tmp/quire_ntk_XXXXXX" };
    assert_non_null(mkdtemp(m->folder));
    snprintf(command, sizeof command,
             "ln -s '%s/goldens/llama/model.safetensors' '%s' && "
             "sed -e 's/\"rope_type\": \"default\"/\"rope_type\": \"dynamic\", \"factor\": 2.0/' "
             "-e 's/\"max_position_embeddings\": 512/\"max_position_embeddings\": 60/' "
             "'%s/goldens/llama/config.json' > '%s/config.json'",
             shared_dir(), m->folder, shared_dir(), m->folder);
    assert_int_equal(system(command), 0);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = m->folder;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_model_open(&mp, &m->model, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
    const char *gguf = params_for(m->gguf).model_path;
    assert_status(QUIRE_OK, quire_tokenizer_open(gguf, NULL, &m->tokenizer, NULL));
}

static inline void close_dynamic_ntk(struct test_model *m)
{
    char command[128];
    assert_status(QUIRE_OK, quire_model_close(m->model));
    quire_tokenizer_close(m->tokenizer);
    snprintf(command, sizeof command, "rm -r '%s'", m->folder);
    assert_int_equal(system(command), 0);
}

/* ---- Schedules */

struct setup {
    uint32_t threads, step, seqs, block, draft;
    uint64_t cache_tokens;   /* 0 = automatic */
    uint32_t chunk;          /* tokens of prompts per step; 0 = by the measured speed */
    const char *draft_model; /* NULL = none */
    uint32_t adapter_rank;
};

static inline struct quire_engine *open_setup(const struct test_model *m, const struct setup *s,
                                              uint32_t n_jobs)
{
    struct quire_engine_params ep = params_for(m->gguf);
    if (m->model) {
        ep.model_path = NULL;
        ep.model = m->model;
        ep.tokenizer = m->tokenizer;
    }
    ep.flags = m->flags;
    ep.context_length = JOB_CONTEXT;
    ep.n_threads = s->threads;
    ep.max_step_tokens = s->step;
    ep.max_seqs = s->seqs;
    ep.block_size = s->block;
    ep.max_requests = n_jobs;
    ep.cache_tokens = s->cache_tokens;
    ep.max_draft_tokens = s->draft;
    ep.max_adapter_rank = s->adapter_rank;
    ep.target_itl = s->chunk ? INFINITY : 0; /* no measured times in place of the chunk */
    char draft_path[4200];
    if (s->draft_model) {
        snprintf(draft_path, sizeof draft_path, "%s/goldens/gguf/%s", shared_dir(), s->draft_model);
        ep.draft_model_path = draft_path;
        ep.draft_cache_tokens = s->cache_tokens / 2;
    }
    struct quire_engine *e = open_with(&ep);
    if (s->chunk)
        e->info.max_step_tokens = s->chunk; /* step.c: the budget of prompts alone */
    return e;
}

/* A GGUF file, or a folder with the tokenizer of the GGUF file `other`. */
static inline void open_tested(struct test_model *m, const char *name, const char *other)
{
    char path[8192];
    struct quire_model_params mp;
    *m = (struct test_model){ .gguf = name };
    if (strstr(name, ".gguf"))
        return;
    quire_model_params_init(&mp, sizeof mp);
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    mp.path = path;
    m->gguf = other;
    assert_status(QUIRE_OK, quire_model_open(&mp, &m->model, NULL));
    assert_status(QUIRE_OK,
                  quire_tokenizer_open(params_for(other).model_path, NULL, &m->tokenizer, NULL));
}

static inline void close_tested(struct test_model *m)
{
    assert_status(QUIRE_OK, quire_model_close(m->model));
    quire_tokenizer_close(m->tokenizer);
}

/* The tokens of a step that come from drafts. */
static inline void take_events(struct quire_engine *e, uint32_t *n_done, uint64_t *n_accepted)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
        struct job *j = ev.user;
        append_event(&ev, &j->result);
        *n_accepted += ev.n_tokens > 1 ? ev.n_tokens - 1 : 0;
        if (ev.kind != QUIRE_EVENT_DONE)
            continue;
        assert_int_equal(ev.reason, QUIRE_FINISH_LENGTH);
        j->result.done = ev;
        j->result.usage = *ev.usage;
        (*n_done)++;
    }
}

/* Submits the jobs at random times, `order` first to last (NULL: as they are), and runs them to the
 * end. Returns how many drafted tokens were accepted. */
static inline uint64_t run_jobs(struct quire_engine *e, struct job *jobs, const uint32_t *order,
                                uint32_t n_jobs, uint32_t seed)
{
    uint32_t submitted = 0, done = 0, random = seed;
    uint64_t n_accepted = 0;
    for (size_t guard = 0; done < n_jobs; guard++) {
        assert_true(guard < 1000000);
        if (submitted < n_jobs && next_random(&random) % 3 == 0) {
            struct job *j = &jobs[order ? order[submitted] : submitted];
            j->hash = 1;
            j->result.size = j->result.n_tokens = 0;
            submit(e, &j->params);
            submitted++;
        }
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        take_events(e, &done, &n_accepted);
    }
    return n_accepted;
}

/* Runs every job alone, without the prefix cache. */
static inline void run_alone(const struct test_model *m, struct job *jobs, uint32_t n_jobs)
{
    const struct setup one = { .threads = 1, .step = 512, .seqs = 1, .block = 64 };
    struct quire_engine *e = open_setup(m, &one, 1);
    for (uint32_t i = 0; i < n_jobs; i++) {
        jobs[i].params.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(e, &jobs[i].params, &jobs[i].result);
    }
    quire_engine_close(e);
}

static inline void assert_same_jobs(const struct job *expected, const struct job *got, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_same(&expected[i].result, &got[i].result);
        assert_true(expected[i].hash == got[i].hash);
    }
}

/* No block and no slot is in use when all requests have ended. */
static inline void assert_free(struct quire_engine *e)
{
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        assert_int_equal(qr_sequence_blocks_available(&e->memory, g), config.n_blocks);
    }
    assert_int_equal(quire_engine_active_count(e), 0);
    assert_int_equal(e->n_free, e->n_requests);
}

static inline uint64_t count_preemptions(struct quire_engine *e)
{
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    return stats.n_preemptions;
}

#endif
