/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_source.c - encoder-decoders in the engine: the reference answers, the same tokens and
 * logits in every schedule, several answers and beams, memory, errors. */
#include "engine_jobs.h"
#include "format/safetensors.h"
#include "test_dir.h"
#include <quire/engine_cache.h>

enum { N_JOBS = 40, N_SCHEDULES = 8, N_GREEDY = 24 };

static const char *const folders[] = { "t5", "bart", "t5gemma" };
enum { N_FOLDERS = sizeof folders / sizeof *folders };

/* The models have no tokenizer: that of another one with as many tokens is used. */
static void open_source_model(struct test_model *m, const char *folder, enum quire_compute compute)
{
    char path[8192];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    *m = (struct test_model){ .gguf = "llama-f32.gguf" };
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), folder);
    mp.path = path;
    mp.linear = QUIRE_LINEAR_QUIRE;
    mp.compute = compute;
    if (quire_model_open(&mp, &m->model, &err) != QUIRE_OK)
        fail_msg("%s: %s", folder, err.msg);
    assert_status(QUIRE_OK,
                  quire_tokenizer_open(params_for(m->gguf).model_path, NULL, &m->tokenizer, NULL));
}

static void close_source_model(struct test_model *m)
{
    assert_status(QUIRE_OK, quire_model_close(m->model));
    quire_tokenizer_close(m->tokenizer);
}

static struct quire_engine_params source_params(const struct test_model *m)
{
    struct quire_engine_params p = params_for(m->gguf);
    p.model_path = NULL;
    p.model = m->model;
    p.tokenizer = m->tokenizer;
    p.context_length = 256;
    p.k_dtype = p.v_dtype = QUIRE_KV_F32;
    return p;
}

static struct quire_request_params answer_to(const int32_t *ids, size_t n, uint32_t max_tokens)
{
    struct quire_request_params p = greedy("", max_tokens);
    p.text = NULL;
    p.tokens = ids;
    p.n_tokens = n;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    return p;
}

/* ---- Reference answers */

/* Reads n token ids of a reference tensor. */
static void read_ids(const char *folder, const char *name, int32_t *ids, size_t n)
{
    char path[8192];
    int64_t wide[128];
    struct qr_safetensors *s;
    size_t at;
    snprintf(path, sizeof path, "%s/goldens/%s/golden.safetensors", shared_dir(), folder);
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &s, NULL));
    assert_true(qr_safetensors_find(s, name, &at) && n <= 128);
    assert_int_equal(qr_safetensors_tensor(s, at)->bytes, n * sizeof *wide);
    assert_status(QUIRE_OK, qr_safetensors_read_range(s, at, 0, n * sizeof *wide, wide, NULL));
    qr_safetensors_close(s);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)wide[i];
}

/* Tokens that an answer begins with. */
struct forced {
    const int32_t *ids;
    size_t n;
};

static quire_status force(void *user, const struct quire_logits_args *args)
{
    const struct forced *f = user;
    for (size_t i = 0; args->n_tokens < f->n && i < args->n_vocab; i++)
        args->logits[i] = (int32_t)i == f->ids[args->n_tokens] ? 10.0f : -10.0f;
    return QUIRE_OK;
}

/* Case 1 answers from the start token on, case 2 after 33 tokens. */
static void reference(void **state)
{
    (void)state;
    static const uint32_t n_source[] = { 33, 100 }, n_decoder[] = { 1, 33 };
    static struct result r;
    int32_t source[100], decoder[33], want[N_GREEDY];
    char name[32];
    if (!need_shared())
        skip();
    for (size_t i = 0; i < N_FOLDERS; i++) {
        struct test_model m;
        open_source_model(&m, folders[i], QUIRE_COMPUTE_F32);
        const struct quire_engine_params ep = source_params(&m);
        struct quire_engine *e = open_with(&ep);
        for (uint32_t k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "encoder_ids.%u", k + 1);
            read_ids(folders[i], name, source, n_source[k]);
            snprintf(name, sizeof name, "greedy.%u", k + 1);
            read_ids(folders[i], name, want, N_GREEDY);
            read_ids(folders[i], "decoder_ids.2", decoder, 33);
            struct forced f = { decoder, n_decoder[k] };
            const uint32_t n_before = n_decoder[k] - 1;
            struct quire_request_params p = answer_to(source, n_source[k], N_GREEDY + n_before);
            p.logits_hook = force;
            p.logits_hook_user = &f;
            generate(e, &p, &r);
            assert_int_equal(r.n_tokens, n_before + N_GREEDY);
            assert_memory_equal(r.tokens, decoder + 1, n_before * sizeof *decoder);
            assert_memory_equal(r.tokens + n_before, want, sizeof want);
            assert_int_equal(r.usage.prompt_tokens, n_source[k]);
            assert_int_equal(r.usage.prompt_done, n_source[k]);
            assert_int_equal(r.usage.cached_tokens, 0);
            assert_int_equal(r.usage.completion_tokens, n_before + N_GREEDY);
        }
        assert_free(e);
        quire_engine_close(e);
        close_source_model(&m);
    }
}

/* ---- Schedules */

static struct job alone[N_JOBS], together[N_JOBS];

static uint64_t run_schedule(const struct test_model *m, uint32_t seed, uint64_t *n_accepted)
{
    uint32_t random = seed;
    const struct setup s = { .threads = 1 + next_random(&random) % 3,
                             .step = seed % 2 ? 32 : 256,
                             .seqs = 8,
                             .block = 16u << next_random(&random) % 3,
                             .cache_tokens = seed % 3 ? JOB_CONTEXT + 64 : 0,
                             .draft = seed % 2 ? 16 : 0 };
    struct quire_engine *e = open_setup(m, &s, N_JOBS);
    for (uint32_t i = 0; i < N_JOBS; i++)
        together[i].params.draft_tokens = s.draft ? 6 : 0;
    *n_accepted += run_jobs(e, together, NULL, N_JOBS, seed);
    assert_same_jobs(alone, together, N_JOBS);
    assert_free(e);
    const uint64_t n = count_preemptions(e);
    quire_engine_close(e);
    return n;
}

static void make_source_jobs(struct job *jobs)
{
    make_jobs(jobs, N_JOBS, 7);
    for (uint32_t i = 0; i < N_JOBS; i += 2)
        jobs[i].repeats = true;
}

static void schedules(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < N_FOLDERS; i++) {
        struct test_model m;
        uint64_t n_preempted = 0, n_accepted = 0;
        open_source_model(&m, folders[i], QUIRE_COMPUTE_NATIVE);
        make_source_jobs(alone);
        run_alone(&m, alone, N_JOBS);
        make_source_jobs(together);
        for (uint32_t k = 0; k < N_SCHEDULES; k++)
            n_preempted += run_schedule(&m, 60 + k, &n_accepted);
        print_message("%s: %llu preemptions, %llu draft tokens accepted\n", folders[i],
                      (unsigned long long)n_preempted, (unsigned long long)n_accepted);
        assert_true(n_preempted > 0 && n_accepted > 0);
        close_source_model(&m);
    }
}

/* ---- Several answers */

/* All answers of a request as one text each, with 1 or 4 sequences at a time. */
static void run_choices(const struct test_model *m, uint32_t max_seqs,
                        struct quire_request_params p, char text[3][512])
{
    struct quire_engine_params ep = source_params(m);
    struct quire_event ev = { .struct_size = sizeof ev };
    ep.max_seqs = max_seqs;
    struct quire_engine *e = open_with(&ep);
    const quire_request_id id = submit(e, &p);
    for (int left = 3; left;) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        strncat(text[ev.choice], ev.text, ev.text_size);
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
    assert_free(e);
    quire_engine_close(e);
}

static void choices(void **state)
{
    (void)state;
    int32_t ids[50];
    struct quire_sampling_params sampling;
    if (!need_shared())
        skip();
    for (int32_t i = 0; i < 50; i++)
        ids[i] = 40 + i * 7 % 150;
    for (size_t i = 0; i < N_FOLDERS; i++) {
        char text[2][3][512] = { { "" } }, beams[2][3][512] = { { "" } };
        struct test_model m;
        open_source_model(&m, folders[i], QUIRE_COMPUTE_F32);
        struct quire_request_params p = answer_to(ids, 50, 12);
        quire_sampling_params_init(&sampling, sizeof sampling);
        sampling.temperature = 1;
        sampling.seed = 5;
        p.sampling = &sampling;
        p.n = 3;
        for (uint32_t run = 0; run < 2; run++)
            run_choices(&m, run ? 4 : 1, p, text[run]);
        p.sampling = NULL;
        p.beam_width = 3;
        for (uint32_t run = 0; run < 2; run++)
            run_choices(&m, run ? 6 : 3, p, beams[run]);
        for (int k = 0; k < 3; k++) {
            assert_string_equal(text[0][k], text[1][k]);
            assert_string_equal(beams[0][k], beams[1][k]);
        }
        assert_string_not_equal(text[0][0], text[0][1]);
        assert_string_not_equal(beams[0][0], beams[0][1]);
        close_source_model(&m);
    }
}

/* ---- Memory, errors */

/* The bytes of an engine are those that a dry run states. */
static void memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct test_model m;
    open_source_model(&m, "t5", QUIRE_COMPUTE_F32);
    struct quire_engine_params ep = source_params(&m);
    struct quire_engine_info dry = { .struct_size = sizeof dry }, real = dry;
    ep.flags = QUIRE_ENGINE_DRY_RUN;
    struct quire_engine *e = open_with(&ep);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &dry));
    quire_engine_close(e);
    ep.flags = 0;
    e = open_with(&ep);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &real));
    assert_true(dry.kv_bytes == real.kv_bytes && dry.context_bytes == real.context_bytes);
    assert_int_equal(quire_kv_group_count(e->kv), 2); /* the decoder's own, and the source's */
    quire_engine_close(e);
    /* allocations of open fail */
    struct fail_alloc f;
    fail_alloc_init(&f, 0, true);
    ep.allocator = &f.hooks;
    bool opened = false;
    for (size_t at = 1; !opened; at += 1 + at / 8) {
        struct quire_error err = QUIRE_ERROR_INIT;
        f.calls = 0;
        f.fail_at = at;
        opened = quire_engine_open(&ep, &e, &err) == QUIRE_OK;
        f.fail_at = 0;
        if (opened)
            quire_engine_close(e);
        assert_int_equal(f.live_count, 0);
    }
    close_source_model(&m);
}

static void expect_refused(struct quire_engine *e, const struct quire_request_params *p,
                           quire_status expected, const char *what)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id;
    assert_status(expected, quire_engine_submit(e, p, &id, &err));
    if (!strstr(err.msg, what))
        fail_msg("%s is not in: %s", what, err.msg);
}

static void refused(void **state)
{
    (void)state;
    static int32_t ids[300];
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    struct test_model m;
    open_source_model(&m, "t5", QUIRE_COMPUTE_F32);
    struct quire_engine_params ep = source_params(&m);
    struct quire_engine *e = open_with(&ep);
    for (int i = 0; i < 300; i++)
        ids[i] = 40;
    struct quire_request_params p = answer_to(ids, 257, 4);
    expect_refused(e, &p, QUIRE_E_LIMIT, "context");
    ids[3] = 320;
    p = answer_to(ids, 10, 4);
    expect_refused(e, &p, QUIRE_E_RANGE, "token 3");
    ids[3] = 40;
    p.task = QUIRE_TASK_EMBED;
    expect_refused(e, &p, QUIRE_E_UNSUPPORTED, "task");
    p = answer_to(ids, 10, 4);
    p.flags = QUIRE_REQUEST_ECHO;
    expect_refused(e, &p, QUIRE_E_UNSUPPORTED, "QUIRE_REQUEST_ECHO");
    p.flags = QUIRE_REQUEST_PROMPT_ONLY;
    p.max_tokens = 0;
    expect_refused(e, &p, QUIRE_E_UNSUPPORTED, "QUIRE_REQUEST_PROMPT_ONLY");
    const struct quire_prompt_part part = { .text = "a", .text_size = 1 };
    p = answer_to(NULL, 0, 4);
    p.parts = &part;
    p.n_parts = 1;
    expect_refused(e, &p, QUIRE_E_UNSUPPORTED, "parts");
    char path[128];
    snprintf(path, sizeof path, "%s/cache", dir);
    struct quire_cache_file_params file;
    quire_cache_file_params_init(&file, sizeof file);
    file.path = path;
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_save_cache(e, &file, NULL, &err));
    assert_non_null(strstr(err.msg, "encoder-decoder"));
    quire_engine_close(e);
    struct test_model draft;
    open_source_model(&draft, "bart", QUIRE_COMPUTE_F32);
    ep.max_draft_tokens = 4;
    ep.draft_model = draft.model;
    ep.draft_tokenizer = draft.tokenizer;
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "draft_model: architecture 'bart'"));
    close_source_model(&draft);
    close_source_model(&m);
}

/* A text gets the tokens that the tokenizer adds, and the answer is a text of its own. */
static void text(void **state)
{
    (void)state;
    static struct result by_text, by_tokens;
    size_t n;
    int32_t ids[64];
    if (!need_shared())
        skip();
    struct test_model m;
    open_source_model(&m, "t5", QUIRE_COMPUTE_F32);
    const struct quire_engine_params ep = source_params(&m);
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy("the old fox", 8);
    generate(e, &p, &by_text);
    assert_status(QUIRE_OK, quire_tokenizer_encode(m.tokenizer, "the old fox", 11,
                                                   QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS, ids,
                                                   64, &n, NULL));
    p = answer_to(ids, n, 8);
    p.flags = 0;
    generate(e, &p, &by_tokens);
    assert_same(&by_text, &by_tokens);
    assert_int_equal(by_text.usage.prompt_tokens, n);
    size_t counted;
    p = greedy("the old fox", 8);
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &counted, NULL));
    assert_int_equal(counted, n);
    quire_engine_close(e);
    close_source_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference), cmocka_unit_test(schedules), cmocka_unit_test(choices),
        cmocka_unit_test(memory),    cmocka_unit_test(refused),   cmocka_unit_test(text),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
