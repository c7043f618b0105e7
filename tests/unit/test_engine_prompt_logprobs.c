/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_prompt_logprobs.c - log-probabilities of the tokens of prompts, against a softmax in
 * double precision over one pass of the model and over reference logits; requests without an
 * answer. */
#include "engine_requests.h"
#include "format/safetensors.h"
#include "full_forward.h"
#include "model/load/model.h"

enum { MAX_PROMPT = 200, TOP = 3, PER_TOKEN = 1 + TOP };

/* An echoed prompt with its log-probabilities, and what follows. */
struct scored {
    struct quire_token_logprob logprobs[(MAX_PROMPT + 64) * PER_TOKEN];
    struct result result;
};

static void take_scored(const struct quire_event *ev, struct scored *s)
{
    const size_t at = s->result.n_tokens;
    append_event(ev, &s->result);
    if (ev->n_tokens) {
        assert_int_equal(ev->n_logprobs, PER_TOKEN);
        memcpy(s->logprobs + at * PER_TOKEN, ev->logprobs,
               ev->n_tokens * PER_TOKEN * sizeof *ev->logprobs);
    }
    if (ev->kind == QUIRE_EVENT_DONE) {
        s->result.done = *ev;
        s->result.usage = *ev->usage;
    }
}

static void score(struct quire_engine *e, const struct quire_request_params *p, struct scored *s)
{
    const quire_request_id id = submit(e, p);
    struct quire_event ev = { .struct_size = sizeof ev };
    *s = (struct scored){ .result.size = 0 };
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        take_scored(&ev, s);
    } while (ev.kind != QUIRE_EVENT_DONE);
}

static void fill_prompt(int32_t *tokens, uint32_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        tokens[i] = 3 + (int32_t)((seed >> 8) % 250);
    }
}

static struct quire_request_params scoring(const int32_t *tokens, size_t n, uint32_t max_tokens)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.tokens = tokens;
    p.n_tokens = n;
    p.n_logprobs = TOP;
    p.flags = QUIRE_REQUEST_ECHO | QUIRE_REQUEST_IGNORE_EOS;
    p.flags |= max_tokens ? 0 : QUIRE_REQUEST_PROMPT_ONLY;
    p.max_tokens = max_tokens;
    p.sampling = &greedy_sampling;
    return p;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g, not %.9g", got, want);
}

static void assert_first(const struct quire_token_logprob *l, int32_t token)
{
    assert_int_equal(l[0].token, token);
    for (uint32_t k = 0; k < PER_TOKEN; k++)
        assert_true(isnan(l[k].logprob) && (k == 0 || l[k].token == -1));
}

static void check_oracle(const char *model, uint32_t seed)
{
    static struct scored s;
    struct quire_engine_params ep = params_for(model);
    ep.context_length = 256;
    ep.max_seqs = 3;
    ep.max_step_tokens = 32;
    struct quire_engine *e = open_with(&ep);
    struct full_forward f;
    full_open(&f, e);
    int32_t tokens[MAX_PROMPT];
    static const uint32_t lengths[] = { 1, 2, 5, 33, MAX_PROMPT };
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const uint32_t n = lengths[i];
        fill_prompt(tokens, n, seed + i);
        const struct quire_request_params p = scoring(tokens, n, 0);
        score(e, &p, &s);
        assert_int_equal(s.result.n_tokens, n);
        assert_memory_equal(s.result.tokens, tokens, n * sizeof *tokens);
        full_run(&f, tokens, n, 0);
        assert_first(s.logprobs, tokens[0]);
        for (uint32_t t = 1; t < n; t++) {
            const float *row = f.logits + (size_t)(t - 1) * f.n_vocab;
            const struct quire_token_logprob *l = s.logprobs + (size_t)t * PER_TOKEN;
            const double sum = full_log_sum(&f, row);
            assert_int_equal(l->token, tokens[t]);
            float least = INFINITY;
            for (uint32_t k = 0; k < PER_TOKEN; k++) {
                assert_near(l[k].logprob, row[l[k].token] - sum, 2e-6);
                least = row[l[k].token] < least && k ? row[l[k].token] : least;
                assert_true(k < 2 || l[k].logprob <= l[k - 1].logprob);
            }
            uint32_t n_larger = 0;
            for (uint32_t v = 0; v < f.n_text_tokens; v++)
                n_larger += row[v] > least;
            assert_true(n_larger < TOP);
        }
    }
    full_close(&f);
    quire_engine_close(e);
}

static void test_oracle(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_oracle("llama-q8_0.gguf", 1);
    check_oracle("gemma2_q32-q8_0.gguf", 2);
    check_oracle("phi3-bf16.gguf", 3);
    check_oracle("deepseek_v2-bf16.gguf", 4);
}

/* Logits that another implementation computed in double precision. */
static void test_golden(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 100, VOCAB = 320 };
    static float logits[N * VOCAB];
    static struct scored s;
    char path[4200];
    struct qr_safetensors *st;
    int64_t ids[N];
    size_t at;
    snprintf(path, sizeof path, "%s/goldens/llama/golden.safetensors", shared_dir());
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &st, NULL));
    assert_true(qr_safetensors_find(st, "ids.100", &at));
    assert_status(QUIRE_OK, qr_safetensors_read_range(st, at, 0, sizeof ids, ids, NULL));
    assert_true(qr_safetensors_find(st, "logits.100", &at));
    assert_status(QUIRE_OK, qr_safetensors_read_range(st, at, 0, sizeof logits, logits, NULL));
    qr_safetensors_close(st);
    int32_t tokens[N];
    for (uint32_t i = 0; i < N; i++)
        tokens[i] = (int32_t)ids[i];
    struct quire_engine_params ep = params_for("llama-f32.gguf");
    ep.compute = QUIRE_COMPUTE_F32;
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    struct quire_engine *e = open_with(&ep);
    assert_int_equal(e->vocab_size, VOCAB);
    const struct quire_request_params p = scoring(tokens, N, 0);
    score(e, &p, &s);
    for (uint32_t i = 1; i < N; i++) {
        const float *row = logits + (size_t)(i - 1) * VOCAB;
        double sum = 0;
        for (uint32_t v = 0; v < e->n_text_tokens; v++)
            sum += exp(row[v]);
        for (uint32_t k = 0; k < PER_TOKEN; k++) {
            const struct quire_token_logprob *l = &s.logprobs[i * PER_TOKEN + k];
            assert_near(l->logprob, row[l->token] - log(sum), 1e-3);
        }
    }
    quire_engine_close(e);
}

/* ---- The same bits in every schedule */

static void assert_scored_same(const struct scored *a, const struct scored *b)
{
    assert_same(&a->result, &b->result);
    assert_memory_equal(a->logprobs, b->logprobs,
                        a->result.n_tokens * PER_TOKEN * sizeof *a->logprobs);
}

/* Scores a prompt while others of higher priority preempt it, and one that repeats it decodes. */
static uint64_t score_among_others(struct quire_engine *e, const struct quire_request_params *p,
                                   struct scored *s)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    int32_t other[150];
    fill_prompt(other, 150, 9);
    struct quire_request_params urgent = scoring(other, 150, 20), same = *p;
    urgent.priority = 1;
    urgent.flags &= ~(uint32_t)QUIRE_REQUEST_ECHO;
    same.flags = QUIRE_REQUEST_IGNORE_EOS;
    same.max_tokens = 12;
    *s = (struct scored){ .result.size = 0 };
    (void)submit(e, &same);
    const quire_request_id id = submit(e, p);
    for (uint32_t steps = 0; quire_engine_active_count(e); steps++) {
        if (steps == 2)
            (void)submit(e, &urgent);
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    }
    while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE)
        if (ev.id == id)
            take_scored(&ev, s);
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        assert_int_equal(qr_sequence_blocks_available(&e->memory, g), config.n_blocks);
    }
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    return stats.n_preemptions;
}

static void check_same_bits(const char *model)
{
    static const struct {
        uint32_t threads, step, seqs, block, draft;
        uint64_t cache_tokens;
    } setups[] = {
        { 1, 256, 8, 64, 0, 0 },  { 2, 7, 3, 16, 0, 0 },     { 3, 64, 4, 16, 7, 256 },
        { 1, 40, 2, 16, 0, 256 }, { 2, 100, 1, 32, 0, 256 }, { 1, 3, 3, 16, 0, 288 },
    };
    static struct scored alone, among;
    int32_t tokens[MAX_PROMPT];
    fill_prompt(tokens, MAX_PROMPT, 5);
    uint64_t n_preempted = 0;
    for (uint32_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        struct quire_engine_params ep = params_for(model);
        ep.context_length = 256;
        ep.n_threads = setups[i].threads;
        ep.max_step_tokens = setups[i].step;
        ep.max_seqs = setups[i].seqs;
        ep.block_size = setups[i].block;
        ep.max_draft_tokens = setups[i].draft;
        ep.cache_tokens = setups[i].cache_tokens;
        struct quire_engine *e = open_with(&ep);
        struct quire_request_params p = scoring(tokens, MAX_PROMPT, 9);
        if (i == 0)
            score(e, &p, &alone);
        p.draft_tokens = setups[i].draft;
        for (uint32_t round = 0; round < 2; round++) { /* the second with a warm prefix cache */
            n_preempted += score_among_others(e, &p, &among);
            assert_scored_same(&alone, &among);
            assert_int_equal(among.result.usage.prompt_done, MAX_PROMPT);
        }
        quire_engine_close(e);
    }
    assert_true(n_preempted > 0);
}

static void test_same_bits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_same_bits("llama-q8_0.gguf");
    check_same_bits("gemma2_q32-q8_0.gguf");
}

/* ---- Requests without an answer, several answers, early ends */

static void test_prompt_only(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.context_length = MAX_PROMPT;
    struct quire_engine *e = open_with(&ep);
    int32_t tokens[MAX_PROMPT];
    fill_prompt(tokens, MAX_PROMPT, 1);
    struct result r;
    struct quire_request_params p = scoring(tokens, MAX_PROMPT, 0); /* the whole context */
    p.flags = QUIRE_REQUEST_PROMPT_ONLY;
    p.n_logprobs = 0;
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_LENGTH);
    assert_false(r.done.context_full);
    assert_int_equal(r.n_tokens, 0);
    assert_int_equal(r.usage.completion_tokens, 0);
    assert_int_equal(r.usage.prompt_done, MAX_PROMPT);
    assert_true(r.usage.prompt_seconds > 0 && r.usage.generate_seconds == 0);
    generate(e, &p, &r); /* the prefix cache was filled */
    assert_int_equal(r.usage.cached_tokens, MAX_PROMPT - 1);
    p.flags |= QUIRE_REQUEST_ECHO | QUIRE_REQUEST_LOGPROBS;
    generate(e, &p, &r); /* its logits are not cached */
    assert_int_equal(r.usage.cached_tokens, 0);
    assert_int_equal(r.n_tokens, MAX_PROMPT);
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_request_params good = p;
    struct {
        const char *name;
        uint32_t *field;
    } fields[] = { { "max_tokens", &p.max_tokens },
                   { "min_tokens", &p.min_tokens },
                   { "n", &p.n },
                   { "best_of", &p.best_of },
                   { "draft_tokens", &p.draft_tokens } };
    e->info.max_draft_tokens = 4; /* else draft_tokens is refused before */
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        p = good;
        *fields[i].field = 2;
        assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
        assert_int_equal(strncmp(err.msg, fields[i].name, strlen(fields[i].name)), 0);
        assert_non_null(strstr(err.msg, "PROMPT_ONLY"));
    }
    quire_engine_close(e);
}

/* All answers to a prompt come with its log-probabilities, also those that wait for a place. */
static void test_choices(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 3 };
    static struct scored one, all[N];
    int32_t tokens[50];
    fill_prompt(tokens, 50, 3);
    for (uint32_t seqs = 1; seqs <= 3; seqs++) {
        struct quire_engine_params ep = params_for("llama-q8_0.gguf");
        ep.max_seqs = seqs;
        struct quire_engine *e = open_with(&ep);
        struct quire_request_params p = scoring(tokens, 50, 4);
        score(e, &p, &one);
        p.n = N;
        memset(all, 0, sizeof all);
        const quire_request_id id = submit(e, &p);
        struct quire_event ev = { .struct_size = sizeof ev };
        for (uint32_t done = 0; done < N; done += ev.kind == QUIRE_EVENT_DONE) {
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            take_scored(&ev, &all[ev.choice]);
        }
        for (uint32_t i = 0; i < N; i++) { /* greedy: all answers are equal */
            assert_scored_same(&one, &all[i]);
            assert_int_equal(all[i].result.usage.cached_tokens >= 49, i > 0); /* computed once */
        }
        quire_engine_close(e);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct scored s;
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_step_tokens = 16;
    ep.max_seqs = 2;
    struct quire_engine *e = open_with(&ep);
    int32_t tokens[100];
    fill_prompt(tokens, 100, 3);
    const struct quire_request_params p = scoring(tokens, 100, 4);
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    for (int i = 0; i < 3; i++) {
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
        assert_int_equal(ev.kind, QUIRE_EVENT_PROMPT);
    }
    assert_status(QUIRE_OK, quire_request_cancel(e, id));
    memset(&s, 0, sizeof s);
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        take_scored(&ev, &s);
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_int_equal(ev.reason, QUIRE_FINISH_CANCELLED);
    assert_int_equal(s.result.n_tokens, 100);
    for (uint32_t i = 1; i < 100; i++) /* rows 0 .. 47 were computed */
        assert_true(isnan(s.logprobs[i * PER_TOKEN].logprob) == (i > 48));
    quire_engine_close(e);
}

/* NaN in the model's logits ends the request; the prompt is returned all the same. */
static void test_nan(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct scored s;
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    int32_t tokens[40];
    fill_prompt(tokens, 40, 3);
    const struct quire_request_params p = scoring(tokens, 40, 4);
    ((float *)(uintptr_t)e->model->global.vec[QR_W_OUTPUT_NORM])[0] = NAN;
    score(e, &p, &s);
    assert_int_equal(s.result.done.reason, QUIRE_FINISH_ERROR);
    assert_int_equal(s.result.done.status, QUIRE_E_NUMERIC);
    assert_int_equal(s.result.n_tokens, 40);
    assert_int_equal(quire_engine_active_count(e), 0);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),    cmocka_unit_test(test_golden),
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_prompt_only),
        cmocka_unit_test(test_choices),   cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
