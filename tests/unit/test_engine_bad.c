/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_bad.c - error paths of the engine: arguments, capacity, allocation
 * failure, reentry. */
#include "engine_requests.h"

static void test_sizes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    ep.flags = QUIRE_ENGINE_DRY_RUN;
    ep.max_seqs = 1;
    e = open_with(&ep);
    struct quire_engine_info dry = { .struct_size = sizeof dry },
                             wet = { .struct_size = sizeof wet };
    assert_status(QUIRE_OK, quire_engine_get_info(e, &dry));
    assert_int_equal(dry.context_length, 512);
    quire_request_id id;
    const struct quire_request_params p = greedy("x", 1);
    assert_status(QUIRE_E_MISUSE, quire_engine_submit(e, &p, &id, NULL));
    assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_int_equal(quire_engine_active_count(e), 0);
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_request_cancel(e, 17));
    quire_engine_close(e);
    ep.flags = 0;
    e = open_with(&ep);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &wet));
    assert_int_equal(dry.kv_bytes, wet.kv_bytes);
    assert_int_equal(dry.context_bytes, wet.context_bytes);
    quire_engine_close(e);

    /* kv_bytes bounds an automatic context and rejects a larger explicit one */
    ep.kv_bytes = dry.kv_bytes / 2;
    e = open_with(&ep);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &wet));
    assert_true(wet.kv_bytes <= ep.kv_bytes && wet.context_length >= 128 &&
                wet.context_length < 512);
    assert_int_equal(wet.context_length % 64, 0);
    quire_engine_close(e);
    ep.context_length = 512;
    assert_status(QUIRE_E_LIMIT, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "512"));
    assert_non_null(strstr(err.msg, "MiB"));
    ep.context_length = 0;
    ep.kv_bytes = 1000;
    assert_status(QUIRE_E_LIMIT, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "one block"));
    ep.kv_bytes = 0;
    ep.block_size = 17;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "block_size"));
}

/* A model without a tokenizer: that is reported. */
static void test_no_tokenizer(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params ep = params_for("../llama");
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    assert_int_not_equal(quire_engine_open(&ep, &e, &err), QUIRE_OK);
    assert_non_null(strstr(err.msg, "tokenizer"));
}

/* A file with a key that quire does not know, from memory. */
static void test_unknown_key(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char path[8192], *data = malloc(4 << 20);
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-q8_0.gguf", shared_dir());
    FILE *f = fopen(path, "rb");
    assert_true(data && f);
    const size_t n = fread(data, 1, 4 << 20, f);
    fclose(f);
    char *at = memmem(data, n, "llama.vocab_size", 16);
    assert_non_null(at);
    memcpy(at, "llama.vocab_sizz", 16);
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    ep.model_path = NULL;
    ep.model_data = data;
    ep.model_bytes = n;
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "llama.vocab_sizz"));
    ep.flags = QUIRE_ENGINE_ALLOW_UNKNOWN | QUIRE_ENGINE_DRY_RUN;
    quire_engine_close(open_with(&ep));
    free(data);
}

static bool refuse_to_load(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    assert_true(done <= total);
    return false;
}

static void test_cancelled_open(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    struct quire_engine *e = (void *)1;
    ep.progress = refuse_to_load;
    assert_status(QUIRE_E_CANCELLED, quire_engine_open(&ep, &e, NULL));
    assert_null(e);
}

static void test_bad_open(void **state)
{
    (void)state;
    struct quire_engine_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e = (void *)1;
    quire_engine_params_init(&p, sizeof p);
    quire_engine_params_init(NULL, sizeof *NULL);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    assert_null(e);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(NULL, &e, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, NULL, &err));
    p.model_path = "/no/such/file.gguf";
    assert_status(QUIRE_E_IO, quire_engine_open(&p, &e, &err));
    assert_non_null(strstr(err.msg, "file.gguf"));
    p.max_requests = 100000;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    p.max_requests = 0;
    p.flags = 1u << 20;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    p.flags = QUIRE_ENGINE_ALLOW_UNKNOWN;
    assert_status(QUIRE_E_IO, quire_engine_open(&p, &e, &err));
    const char *path = p.model_path;
    p.model_path = NULL;
    p.model = (struct quire_model *)1; /* checked after the flags */
    p.tokenizer = (struct quire_tokenizer *)1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    assert_non_null(strstr(err.msg, "QUIRE_ENGINE_ALLOW_UNKNOWN"));
    p.flags = QUIRE_ENGINE_STRICT;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    assert_non_null(strstr(err.msg, "QUIRE_ENGINE_STRICT"));
    p.flags = QUIRE_ENGINE_BF16_STATES;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&p, &e, &err));
    assert_non_null(strstr(err.msg, "QUIRE_ENGINE_BF16_STATES"));
    p.model_path = path;
    p.model = NULL;
    p.tokenizer = NULL;
    p.flags = 0;
    p.struct_size = 8;
    assert_status(QUIRE_E_MISUSE, quire_engine_open(&p, &e, &err));
    quire_engine_close(NULL);
    assert_null(quire_engine_model(NULL));
    assert_null(quire_engine_tokenizer(NULL));
    assert_int_equal(quire_engine_active_count(NULL), 0);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_get_info(NULL, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_step(NULL, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_poll(NULL, NULL, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_default_sampling(NULL, NULL));
    assert_string_equal(quire_finish_reason_name(QUIRE_FINISH_STOP), "stop");
    assert_string_equal(quire_finish_reason_name((enum quire_finish_reason)99), "");
}

static void test_bad_submit(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    const struct quire_request_params good = greedy("hello", 4);
    struct quire_request_params p = good;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id = 3;
#define REFUSED(status, word)                                                                      \
    do {                                                                                           \
        assert_status(status, quire_engine_submit(e, &p, &id, &err));                              \
        assert_non_null(strstr(err.msg, word));                                                    \
        assert_int_equal(id, 0);                                                                   \
        assert_int_equal(quire_engine_active_count(e), 0);                                         \
        p = good;                                                                                  \
    } while (0)
    p.text = NULL;
    REFUSED(QUIRE_E_INVALID_ARG, "exactly one");
    int32_t ids[] = { 1, 2 };
    p.tokens = ids;
    p.n_tokens = 2;
    REFUSED(QUIRE_E_INVALID_ARG, "exactly one");
    p.text_size = 0;
    REFUSED(QUIRE_E_INVALID_ARG, "empty");
    p.text_flags = 1u << 9;
    REFUSED(QUIRE_E_INVALID_ARG, "text_flags");
    p.flags = 1u << 9;
    REFUSED(QUIRE_E_INVALID_ARG, "flags");
    struct quire_sampling_params wrong_sampling = greedy_sampling;
    wrong_sampling.top_p = 2;
    p.sampling = &wrong_sampling;
    REFUSED(QUIRE_E_INVALID_ARG, "top_p");
    wrong_sampling.struct_size = 0;
    p.sampling = &wrong_sampling;
    REFUSED(QUIRE_E_MISUSE, "struct_size");
    p.struct_size = 8;
    REFUSED(QUIRE_E_MISUSE, "struct_size");
    p.n_stop = 1;
    REFUSED(QUIRE_E_INVALID_ARG, "stop");
    p.text = NULL;
    p.tokens = ids;
    REFUSED(QUIRE_E_INVALID_ARG, "n_tokens");
    const int32_t wrong[] = { -1, (int32_t)e->vocab_size, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < 4; i++) {
        ids[1] = wrong[i];
        p.text = NULL;
        p.tokens = ids;
        p.n_tokens = 2;
        REFUSED(QUIRE_E_RANGE, "token 1");
    }
#undef REFUSED
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, NULL, &id, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, NULL, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(NULL, &p, &id, NULL));
    struct quire_event ev = { .struct_size = 1 };
    assert_status(QUIRE_E_MISUSE, quire_engine_poll(e, &ev, NULL));
    struct result r; /* the engine is still usable */
    generate(e, &p, &r);
    assert_true(r.n_tokens >= 1);
    quire_engine_close(e);
}

/* Two engines that share an open model generate the tokens of an engine with its own model, and the
 * model cannot be closed before them. */
static void test_shared_model(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const char *path = params_for("llama-q8_0.gguf").model_path;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    struct quire_model *model;
    struct quire_tokenizer *tokenizer;
    assert_status(QUIRE_OK, quire_model_open(&mp, &model, &err));
    assert_status(QUIRE_OK, quire_tokenizer_open(path, NULL, &tokenizer, &err));
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model = model;
    struct quire_engine *engines[3];
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &engines[0], &err));
    assert_non_null(strstr(err.msg, "tokenizer"));
    ep.tokenizer = tokenizer;
    ep.model_path = path;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &engines[0], &err));
    ep.model_path = NULL;
    assert_status(QUIRE_OK, quire_engine_open(&ep, &engines[0], &err));
    assert_status(QUIRE_OK, quire_engine_open(&ep, &engines[1], &err));
    engines[2] = open_model("llama-q8_0.gguf");
    assert_status(QUIRE_E_BUSY, quire_model_close(model));
    const struct quire_request_params p = greedy("once upon a time", 12);
    struct result r[3];
    for (int i = 0; i < 3; i++)
        generate(engines[i], &p, &r[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r[i].n_tokens, r[2].n_tokens);
        assert_memory_equal(r[i].tokens, r[2].tokens, r[2].n_tokens * sizeof(int32_t));
    }
    for (int i = 0; i < 3; i++)
        quire_engine_close(engines[i]);
    assert_status(QUIRE_OK, quire_model_close(model));
    quire_tokenizer_close(tokenizer);
}

/* An infinite logit fails the request, not the engine. */
static void test_numeric_failure(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-f32.gguf");
    const struct quire_request_params p = greedy("hello", 4);
    struct quire_request_params bad = p;
    /* the sum of both overflows to infinity for a token that was seen */
    struct quire_sampling_params sampling = greedy_sampling;
    sampling.presence_penalty = sampling.frequency_penalty = -3e38f;
    sampling.penalty_last_n = 64;
    bad.sampling = &sampling;
    struct result r;
    generate(e, &bad, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_ERROR);
    assert_int_equal(r.done.status, QUIRE_E_NUMERIC);
    assert_true(r.done.message[0]);
    generate(e, &p, &r);
    assert_int_not_equal(r.done.reason, QUIRE_FINISH_ERROR);
    quire_engine_close(e);
}

/* ---- Allocation failure */

static void test_no_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.n_threads = 1;
    ep.chat_template = template;
    const struct quire_chat_message hi = message("user", "Hi");
    struct quire_request_params p = greedy("", 6);
    p.text = NULL;
    p.messages = &hi;
    p.n_messages = 1;
    const char *stop[] = { "zzz" };
    p.stop = stop;
    p.n_stop = 1;
    bool worked = false;
    for (size_t at = 1; !worked; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        ep.allocator = &f.hooks;
        struct quire_engine *e;
        quire_request_id id = 1;
        quire_status s = quire_engine_open(&ep, &e, NULL);
        if (s == QUIRE_OK)
            s = quire_engine_submit(e, &p, &id, NULL);
        if (s != QUIRE_OK) {
            assert_int_equal(s, QUIRE_E_NOMEM);
        } else {
            /* steps allocate nothing */
            const size_t calls = f.calls;
            worked = calls < at;
            struct result r;
            run_one(e, id, &r);
            assert_int_equal(f.calls, calls);
            assert_int_not_equal(r.done.reason, QUIRE_FINISH_ERROR);
        }
        quire_engine_close(e);
        assert_int_equal(f.live_count, 0);
        assert_int_equal(f.live_bytes, 0);
    }
}

/* An allocator that reenters the engine during a submission, as a logging hook of a host might. */
static struct quire_engine *reentered;
static quire_status reentry;

static void *reenter(void *user, size_t size, size_t align)
{
    if (reentered)
        reentry = quire_engine_step(reentered, NULL);
    return fail_alloc_get(user, size, align);
}

static void test_reentry(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    f.hooks.alloc = reenter;
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.n_threads = 1;
    ep.allocator = &f.hooks;
    struct quire_engine *e = open_with(&ep);
    reentered = e;
    reentry = QUIRE_OK;
    const struct quire_request_params p = greedy("hello", 2);
    const quire_request_id id = submit(e, &p);
    reentered = NULL;
    assert_int_equal(reentry, QUIRE_OK); /* no lock is held: a step without requests */
    struct result r;
    run_one(e, id, &r);
    quire_engine_close(e); /* next: close with a waiting request */
    e = open_with(&ep);
    (void)submit(e, &p);
    quire_engine_close(e);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),           cmocka_unit_test(test_unknown_key),
        cmocka_unit_test(test_cancelled_open),  cmocka_unit_test(test_bad_open),
        cmocka_unit_test(test_bad_submit),      cmocka_unit_test(test_shared_model),
        cmocka_unit_test(test_numeric_failure), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_reentry),         cmocka_unit_test(test_no_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
