/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_prompt_parts.c - parts of prompts: reuse of prefixes with embeddings, what is shown
 * of them, saved caches, bad arguments, failing allocations. */
#include "test_dir.h"
#include "test_embeddings.h"
#include <math.h>

enum { N_ROWS = 40, N_TOKENS = 25 };

/* An engine, random rows and tokens for its model. */
struct bench {
    struct quire_engine *e;
    uint32_t hidden_size;
    float *rows;
    int32_t tokens[N_TOKENS];
};

static struct bench open_bench(void)
{
    const struct quire_engine_params p = tiny_params();
    struct bench b = { .e = open_with(&p) };
    b.hidden_size = b.e->hidden_size;
    b.rows = random_rows(N_ROWS, b.hidden_size, 5);
    for (int i = 0; i < N_TOKENS; i++)
        b.tokens[i] = 60 + i * 7 % 90;
    return b;
}

static void close_bench(struct bench *b)
{
    free(b->rows);
    quire_engine_close(b->e);
}

static uint32_t cached(struct quire_engine *e, const struct quire_request_params *p)
{
    struct result r;
    generate(e, p, &r);
    return r.usage.cached_tokens;
}

/* ---- The prefix cache */

static void test_reuse(void **state)
{
    (void)state;
    struct bench b = open_bench();
    struct quire_prompt_part parts[] = { token_part(b.tokens, N_TOKENS),
                                         row_part(b.rows, N_ROWS, b.hidden_size),
                                         token_part(b.tokens, 3) };
    struct quire_request_params p = of_parts(parts, 3, 4);
    const uint32_t n = N_TOKENS + N_ROWS + 3;
    assert_int_equal(cached(b.e, &p), 0);
    assert_int_equal(cached(b.e, &p), n - 1);
    /* other parts of the same content */
    struct quire_prompt_part split[] = {
        parts[0], row_part(b.rows, 7, b.hidden_size),
        row_part(b.rows + 7 * (size_t)b.hidden_size, N_ROWS - 7, b.hidden_size), parts[2]
    };
    struct quire_request_params q = of_parts(split, 4, 4);
    assert_int_equal(cached(b.e, &q), n - 1);
    /* another salt shares nothing */
    p.cache_salt = 1;
    assert_int_equal(cached(b.e, &p), 0);
    p.cache_salt = 0;
    /* one bit of row 20 */
    uint32_t bits;
    float *changed = &b.rows[20 * (size_t)b.hidden_size + 3];
    memcpy(&bits, changed, sizeof bits);
    bits ^= 1;
    memcpy(changed, &bits, sizeof bits);
    assert_int_equal(cached(b.e, &p), N_TOKENS + 20);
    /* tokens in place of rows */
    struct quire_request_params only_tokens = of_parts(parts, 1, 4);
    assert_int_equal(cached(b.e, &only_tokens), N_TOKENS - 1);
    const uint32_t before = b.e->embeddings.n_rows;
    assert_true(before >= 2 * N_ROWS + 1); /* of both salts, and the changed row */
    const uint64_t salt = 1;
    qr_prefix_index_clear(b.e->memory.index, &salt);
    assert_int_equal(b.e->embeddings.n_rows, before - N_ROWS);
    qr_prefix_index_clear(b.e->memory.index, NULL);
    assert_int_equal(b.e->embeddings.n_rows, 0);
    close_bench(&b);
}

/* A hash of one bit: half of the rows collide. */
static void test_collisions(void **state)
{
    (void)state;
    struct bench b = open_bench();
    struct result want[4], got;
    struct quire_prompt_part part;
    struct quire_request_params p = of_parts(&part, 1, 6);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 4; i++) {
            part = row_part(b.rows + (size_t)i * b.hidden_size, 34, b.hidden_size);
            b.e->embeddings.hash_bits = pass ? 1 : 128;
            p.flags = QUIRE_REQUEST_IGNORE_EOS | (pass ? 0 : QUIRE_REQUEST_NO_REUSE);
            generate(b.e, &p, pass ? &got : &want[i]);
            if (pass)
                assert_same(&want[i], &got);
            if (!pass && i == 3)
                qr_prefix_index_clear(b.e->memory.index, NULL);
        }
    close_bench(&b);
}

/* ---- What is shown */

static quire_status check_tokens(void *user, const struct quire_logits_args *args)
{
    const int32_t *tokens = user;
    for (size_t i = 0; i < args->n_tokens; i++) {
        const bool row = i >= N_TOKENS && i < N_TOKENS + N_ROWS;
        if (row ? args->tokens[i] != -1 : args->tokens[i] < 0)
            return QUIRE_E_INTERNAL;
        if (i < N_TOKENS && args->tokens[i] != tokens[i])
            return QUIRE_E_INTERNAL;
    }
    return QUIRE_OK;
}

static void test_shown(void **state)
{
    (void)state;
    struct bench b = open_bench();
    static const char text[] = "a fox who lived under a hill";
    struct quire_prompt_part parts[] = { token_part(b.tokens, N_TOKENS),
                                         row_part(b.rows, N_ROWS, b.hidden_size),
                                         { .text = text, .text_size = sizeof text - 1 } };
    struct quire_request_params p = of_parts(parts, 3, 12);
    size_t n;
    assert_status(QUIRE_OK, quire_engine_count_tokens(b.e, &p, &n, NULL));
    p.flags |= QUIRE_REQUEST_ECHO | QUIRE_REQUEST_LOGPROBS;
    p.logits_hook = check_tokens;
    p.logits_hook_user = b.tokens;
    struct quire_sampling_params sampling = greedy_sampling;
    sampling.presence_penalty = 0.5f;
    sampling.dry_multiplier = 1;
    sampling.dry_base = 1.75f;
    sampling.dry_allowed_length = 2;
    sampling.dry_penalty_last_n = -1;
    sampling.penalty_last_n = -1;
    p.sampling = &sampling;
    const quire_request_id id = submit(b.e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    struct result r = { .size = 0 };
    size_t at = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(b.e, id, -1, &ev, NULL));
        append_event(&ev, &r);
        for (size_t i = 0; i < ev.n_tokens; i++, at++) {
            assert_int_equal(ev.logprobs[i].token, ev.tokens[i]);
            const bool none = at == 0 || ev.tokens[i] < 0; /* nothing before it; an embedding */
            assert_true(none ? isnan(ev.logprobs[i].logprob) : ev.logprobs[i].logprob <= 0);
        }
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_int_equal(ev.reason, QUIRE_FINISH_LENGTH);
    assert_int_equal(ev.usage->prompt_tokens, n);
    assert_int_equal(r.n_tokens, n + 12);
    for (uint32_t i = 0; i < n; i++)
        assert_true((r.tokens[i] == -1) == (i >= N_TOKENS && i < N_TOKENS + N_ROWS));
    assert_non_null(strstr(r.text, text)); /* the rows have no text */
    close_bench(&b);
}

/* Two images in one conversation, whose questions repeat: drafts never contain a row, and the
 * answer is the same. The hook makes the answer repeat the tokens before the images. */
static quire_status repeat_prompt(void *user, const struct quire_logits_args *args)
{
    const int32_t *tokens = user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = (int32_t)i == tokens[args->n_tokens % N_TOKENS] ? 10.0f : -10.0f;
    return QUIRE_OK;
}

static void test_drafts(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    ep.max_draft_tokens = 8;
    struct bench b = open_bench();
    struct quire_engine *e = open_with(&ep);
    struct quire_prompt_part parts[] = {
        token_part(b.tokens, N_TOKENS), row_part(b.rows, 5, b.hidden_size),
        token_part(b.tokens, N_TOKENS), row_part(b.rows, 5, b.hidden_size),
        token_part(b.tokens, 6),
    };
    struct quire_request_params p = of_parts(parts, 5, 60);
    p.logits_hook = repeat_prompt;
    p.logits_hook_user = b.tokens;
    struct result plain, drafted;
    generate(e, &p, &plain);
    const uint64_t steps = e->counters.n_steps;
    p.draft_tokens = 8;
    generate(e, &p, &drafted);
    assert_same(&plain, &drafted);
    assert_true(e->counters.n_steps - steps < 55); /* drafts were accepted */
    quire_engine_close(e);
    close_bench(&b);
}

/* Several answers share the rows, also when the first one is gone. */
static void test_answers(void **state)
{
    (void)state;
    struct bench b = open_bench();
    struct quire_prompt_part parts[] = { row_part(b.rows, N_ROWS, b.hidden_size),
                                         token_part(b.tokens, 5) };
    struct quire_request_params p = of_parts(parts, 2, 9);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1;
    p.sampling = &sampling;
    struct result one[3];
    for (uint32_t i = 0; i < 3; i++) {
        p.stream = i;
        generate(b.e, &p, &one[i]);
    }
    p.stream = 0;
    p.n = 3;
    p.flags |= QUIRE_REQUEST_NO_REUSE;
    const quire_request_id id = submit(b.e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    struct result all[3] = { { .size = 0 } };
    for (int left = 3; left;) {
        assert_status(QUIRE_OK, quire_engine_wait(b.e, id, -1, &ev, NULL));
        append_event(&ev, &all[ev.choice]);
        all[ev.choice].done = ev;
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
    for (int i = 0; i < 3; i++)
        assert_same(&one[i], &all[i]);
    close_bench(&b);
}

/* ---- Saved caches */

static struct quire_cache_file_result save(struct quire_engine *e, const char *path,
                                           quire_status expected)
{
    struct quire_cache_file_params p;
    struct quire_cache_file_result r = { .struct_size = sizeof r };
    quire_cache_file_params_init(&p, sizeof p);
    p.path = path;
    assert_status(expected, quire_engine_save_cache(e, &p, &r, NULL));
    return r;
}

/* The tokens before the first row are saved, once; nothing behind it is. */
static void test_saved(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/cache", dir);
    struct bench b = open_bench();
    struct quire_prompt_part parts[] = { token_part(b.tokens, N_TOKENS),
                                         row_part(b.rows, N_ROWS, b.hidden_size),
                                         token_part(b.tokens, 3) };
    struct quire_request_params p = of_parts(parts + 1, 2, 4);
    struct result want, got;
    generate(b.e, &p, &want);
    (void)save(b.e, path, QUIRE_E_RANGE); /* it begins with a row */
    p = of_parts(parts, 3, 4);
    generate(b.e, &p, &want);
    parts[1] = row_part(b.rows + b.hidden_size, N_ROWS - 1, b.hidden_size);
    generate(b.e, &p, &got); /* another image behind the same tokens */
    parts[1] = row_part(b.rows, N_ROWS, b.hidden_size);
    assert_int_equal(save(b.e, path, QUIRE_OK).n_tokens, N_TOKENS);

    const int32_t ids[] = { -2, -3 };
    struct quire_cache_file_params cp;
    quire_cache_file_params_init(&cp, sizeof cp);
    cp.path = path;
    cp.tokens = ids;
    cp.n_tokens = 2;
    assert_status(QUIRE_E_RANGE, quire_engine_save_cache(b.e, &cp, NULL, NULL));
    close_bench(&b);

    struct bench other = open_bench();
    quire_cache_file_params_init(&cp, sizeof cp);
    cp.path = path;
    struct quire_cache_file_result restored = { .struct_size = sizeof restored };
    assert_status(QUIRE_OK, quire_engine_restore_cache(other.e, &cp, &restored, NULL));
    assert_int_equal(restored.n_tokens, N_TOKENS);
    parts[0].tokens = parts[2].tokens = other.tokens;
    parts[1].embeddings = other.rows;
    generate(other.e, &p, &got);
    assert_same(&want, &got);
    assert_int_equal(got.usage.cached_tokens, N_TOKENS);
    close_bench(&other);
}

/* ---- Bad arguments */

static void refuse(struct bench *b, const struct quire_request_params *p, quire_status expected,
                   const char *message)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id = 1;
    assert_status(expected, quire_engine_submit(b->e, p, &id, &err));
    if (!strstr(err.msg, message))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, message);
    assert_int_equal(id, 0);
    size_t n = 1;
    const quire_status counted = quire_engine_count_tokens(b->e, p, &n, NULL);
    const bool of_values = expected == QUIRE_E_RANGE || expected == QUIRE_E_NUMERIC;
    assert_true(of_values ? counted == QUIRE_OK : counted == expected || counted == QUIRE_OK);
    assert_int_equal(b->e->n_free, b->e->n_requests);
    assert_int_equal(b->e->embeddings.n_rows, 0);
}

static void test_bad_parts(void **state)
{
    (void)state;
    struct bench b = open_bench();
    struct quire_prompt_part parts[3] = { token_part(b.tokens, 4), token_part(b.tokens, 4),
                                          row_part(b.rows, 9, b.hidden_size) };
    struct quire_prompt_part *last = &parts[2];
    const struct quire_prompt_part good = *last;
    struct quire_request_params p = of_parts(parts, 3, 4);
    p.n_parts = 0;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "n_parts is 0");
    p.n_parts = 3;
    p.tokens = b.tokens;
    p.n_tokens = 1;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "exactly one of messages, text, tokens and parts");
    p.tokens = NULL;
    p.tools_json = "[]";
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "tools_json");
    p.tools_json = NULL;
    *last = (struct quire_prompt_part){ .n_rows = 3 };
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2]: give exactly one of text");
    *last = good;
    last->text = "x";
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2]: give exactly one of text");
    *last = good;
    last->tokens = b.tokens;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2]: give exactly one of text");
    *last = good;
    last->n_rows = 0;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2].n_rows is 0");
    last->n_rows = (size_t)INT32_MAX + 1;
    refuse(&b, &p, QUIRE_E_LIMIT, "parts[2].n_rows is 2147483648");
    last->n_rows = 300; /* more than the context; their values are not read */
    refuse(&b, &p, QUIRE_E_LIMIT, "the prompt has 308 tokens, the context is 256");
    *last = good;
    last->hidden_size++;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2].hidden_size is");
    last->hidden_size = 0;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2].hidden_size is 0");
    *last = good;
    for (int i = 0; i < 6; i++) {
        last->reserved[i] = 1;
        refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[2].reserved is not 0");
        *last = good;
    }
    float *value = &b.rows[5 * (size_t)b.hidden_size + b.hidden_size - 1];
    static const uint32_t specials[] = { 0x7fc00000, 0xff800001, 0x7f800000, 0xff800000 };
    const float before = *value;
    for (int i = 0; i < 4; i++) {
        memcpy(value, &specials[i], sizeof *value);
        refuse(&b, &p, QUIRE_E_NUMERIC,
               i < 2 ? "parts[2].embeddings: row 5 has a NaN"
                     : "parts[2].embeddings: row 5 has an infinity");
    }
    *value = before;
    b.tokens[3] = -1;
    refuse(&b, &p, QUIRE_E_RANGE, "parts[0].tokens[3] is -1");
    b.tokens[3] = (int32_t)b.e->vocab_size;
    refuse(&b, &p, QUIRE_E_RANGE, "parts[0].tokens[3] is");
    b.tokens[3] = 60;
    parts[1].n_tokens = 0;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[1].n_tokens is 0");
    parts[1].n_tokens = SIZE_MAX;
    refuse(&b, &p, QUIRE_E_LIMIT, "parts[1].n_tokens");
    parts[1] = (struct quire_prompt_part){ .text = "x", .text_size = 0 };
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[1].text_size is 0");
    parts[1].text_size = 1;
    parts[1].text_flags = 64;
    refuse(&b, &p, QUIRE_E_INVALID_ARG, "parts[1].text: text_flags 0x40");
    close_bench(&b);
}

/* ---- Failing allocations */

static void test_no_memory(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    struct quire_engine_params ep = tiny_params();
    ep.allocator = &f.hooks;
    struct bench b = open_bench();
    struct quire_engine *e = open_with(&ep);
    static const char text[] = "Why?";
    struct quire_prompt_part parts[] = { { .text = text, .text_size = 4 },
                                         row_part(b.rows, 20, b.hidden_size),
                                         token_part(b.tokens, N_TOKENS),
                                         row_part(b.rows, N_ROWS, b.hidden_size) };
    struct quire_request_params p = of_parts(parts, 4, 3);
    p.n = 2;
    const size_t live = f.live_count;
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t refused = 0;
    bool failed = true;
    struct quire_event ev = { .struct_size = sizeof ev };
    for (size_t at = 1; failed; at++) {
        f.calls = 0;
        f.fail_at = at;
        const quire_status s = quire_engine_submit(e, &p, &id, &err);
        failed = f.calls >= at; /* the tokenizer tries some allocations again */
        f.fail_at = 0;
        if (s != QUIRE_OK) {
            assert_status(QUIRE_E_NOMEM, s);
            assert_non_null(strstr(err.msg, "no memory"));
            assert_true(f.live_count <= live + 3); /* the arrays of the table stay */
            refused++;
        }
        for (int left = s == QUIRE_OK ? 2 : 0; left; left -= ev.kind == QUIRE_EVENT_DONE) {
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            assert_true(ev.kind != QUIRE_EVENT_DONE || ev.reason == QUIRE_FINISH_LENGTH);
        }
        qr_prefix_index_clear(e->memory.index, NULL);
        assert_int_equal(e->embeddings.n_rows, 0);
        assert_int_equal(e->n_free, e->n_requests);
    }
    assert_true(refused > N_ROWS);
    quire_engine_close(e);
    assert_int_equal(f.live_count, 0);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),     cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_shown),     cmocka_unit_test(test_drafts),
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_saved),
        cmocka_unit_test(test_bad_parts), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
