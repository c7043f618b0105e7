/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler.c - the scheduler and the prefix cache together: all interleavings on small pools,
 * random load on larger ones, priorities, fairness, preemption, forks, groups. */
#include "scheduler_model.h"

static int32_t prompt[MODEL_MAX_TOKENS];

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill_prompt(uint32_t n, int32_t first)
{
    for (uint32_t i = 0; i < n; i++)
        prompt[i] = (int32_t)(i * 11 % 97);
    prompt[0] = first;
}

/* ---- Every interleaving of a few events */

enum { N_CHOICES = 7, GROUP = 2 };

/* Applies one choice: submissions that share prefixes in different ways, a cancellation, a step.
 * False: it is not possible now. */
static bool apply(struct model *m, int choice, struct model_task *submitted[], int *n_submitted)
{
    static const struct {
        uint32_t n_prompt, n_output;
        int32_t first, priority;
    } kinds[] = {
        { 33, 14, 1, 0 }, /* three blocks, the whole pool */
        { 20, 5, 1, 0 },  /* a prefix of the first */
        { 20, 20, 2, 1 }, /* nothing shared, more urgent */
        { 18, 10, 1, 0 }, /* a group that shares a prefix with the first */
    };
    if (choice == 3) {
        if (m->scheduler.n_running + m->scheduler.n_waiting == 0)
            return false;
        (void)model_step(m, UINT32_MAX);
        return true;
    }
    if (choice == 4 || choice == 5) { /* the first or the last one that is live */
        for (int i = 0; i < *n_submitted; i++) {
            struct model_task *t = submitted[choice == 4 ? i : *n_submitted - 1 - i];
            if (t->live) {
                model_cancel(m, t);
                return true;
            }
        }
        return false;
    }
    if (*n_submitted == 4)
        return false;
    const int kind = choice < 3 ? choice : 3;
    fill_prompt(kinds[kind].n_prompt, kinds[kind].first);
    const struct model_request r = { .prompt = prompt,
                                     .n_prompt = kinds[kind].n_prompt,
                                     .n_output = kinds[kind].n_output,
                                     .priority = kinds[kind].priority,
                                     .client = (uint64_t)choice };
    if (kind == 3 && !model_group_fits(m, &r, GROUP))
        return false;
    submitted[(*n_submitted)++] =
        kind == 3 ? model_submit_group(m, &r, GROUP) : model_submit(m, &r);
    return true;
}

/* Runs one sequence of choices from an empty engine, then to the end. False: a choice was not
 * possible, so neither is any sequence that begins like this. */
static bool run_choices(const struct model_params *p, const int *choices, int n)
{
    struct model m;
    struct model_task *submitted[4];
    int n_submitted = 0;
    bool possible = true;
    model_open(&m, p);
    for (int i = 0; i < n && possible; i++)
        possible = apply(&m, choices[i], submitted, &n_submitted);
    /* 4 tasks of up to 47 tokens: at least one token per step, and recomputation is bounded */
    for (int steps = 0; possible && m.scheduler.n_running + m.scheduler.n_waiting; steps++) {
        assert_true(steps < 1000);
        (void)model_step(&m, UINT32_MAX);
    }
    model_close(&m);
    return possible;
}

static uint64_t all_interleavings(const struct model_params *p, int depth)
{
    int choices[16] = { 0 }, n = 1;
    uint64_t runs = 0;
    while (n > 0) {
        const bool possible = run_choices(p, choices, n);
        runs += possible;
        if (possible && n < depth) {
            choices[n++] = 0;
            continue;
        }
        while (n > 0 && ++choices[n - 1] == N_CHOICES)
            n--;
    }
    return runs;
}

static void test_interleavings(void **state)
{
    (void)state;
    const int depth = getenv("QUIRE_TEST_SLOW") ? 7 : 5;
    static const struct model_params pools[] = {
        { .n_blocks = 3, .max_tokens = 48, .max_running = 2, .max_step_tokens = 24 },
        { .n_blocks = 4, .max_tokens = 48, .max_running = 3, .max_step_tokens = 64 },
        { .n_blocks = 3,
          .windowed_blocks = 3,
          .window = 10,
          .max_tokens = 48,
          .max_running = 2,
          .max_step_tokens = 16 },
        { .n_blocks = 4,
          .windowed_blocks = 4,
          .window = 10,
          .max_tokens = 48,
          .max_running = 2,
          .max_step_tokens = 8 },
    };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        struct model_params p = pools[i];
        p.hash_bits = 4;
        assert_true(all_interleavings(&p, depth) > 1000);
    }
}

/* ---- Random load */

static void random_load(const struct model_params *p, uint32_t n_requests, uint32_t seed)
{
    struct model m;
    uint32_t random = seed, submitted = 0, n_groups = 0;
    uint64_t steps = 0;
    model_open(&m, p);
    while (submitted < n_requests || m.scheduler.n_running + m.scheduler.n_waiting) {
        while (submitted < n_requests && m.scheduler.n_waiting < 30 && next_random(&random) % 3) {
            const uint32_t n_prompt = 1 + next_random(&random) % (p->max_tokens * 3 / 4);
            const uint32_t n_output = 1 + next_random(&random) % (p->max_tokens - n_prompt);
            fill_prompt(n_prompt, (int32_t)(next_random(&random) % 3));
            if (next_random(&random) % 2)
                prompt[next_random(&random) % n_prompt] = 98; /* parts from the others here */
            struct model_request r = { .prompt = prompt,
                                       .n_prompt = n_prompt,
                                       .n_output = n_output,
                                       .priority = (int32_t)(next_random(&random) % 3),
                                       .client = next_random(&random) % 4,
                                       .salt = next_random(&random) % 8 == 0 };
            const uint32_t width = 2 + next_random(&random) % 4;
            const bool group = next_random(&random) % 3 == 0;
            if (group) {
                r.n_prompt = n_prompt < 40 ? n_prompt : 40;
                r.n_output = 1 + n_output % 24;
            }
            if (group && model_group_fits(&m, &r, width)) {
                (void)model_submit_group(&m, &r, width);
                n_groups++;
            } else {
                (void)model_submit(&m, &r);
            }
            submitted++;
        }
        if (next_random(&random) % 64 == 0) {
            struct model_task *t = &m.tasks[next_random(&random) % MODEL_MAX_TASKS];
            if (t->live)
                model_cancel(&m, t);
        }
        (void)model_step(&m, next_random(&random) % 4 ? UINT32_MAX : 16);
        assert_true(++steps < 400 * (uint64_t)n_requests);
    }
    assert_true(m.scheduler.n_preemptions > 0 && n_groups > n_requests / 20);
    model_close(&m);
}

static void test_random_load(void **state)
{
    (void)state;
    const uint32_t n = getenv("QUIRE_TEST_SLOW") ? 1000 : 150;
    const struct model_params pools[] = {
        { .n_blocks = 8, .max_tokens = 128, .max_running = 8, .max_step_tokens = 64 },
        { .n_blocks = 20, .max_tokens = 256, .max_running = 6, .max_step_tokens = 40 },
        { .n_blocks = 18,
          .windowed_blocks = 10,
          .window = 50,
          .max_tokens = 256,
          .max_running = 4,
          .max_step_tokens = 64 },
    };
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t seed = 1; seed <= 3; seed++) {
            struct model_params p = pools[i];
            p.hash_bits = seed == 1 ? 4 : 128;
            random_load(&p, n, seed * 77 + i);
        }
}

/* ---- Order */

static const struct model_params roomy = {
    .n_blocks = 64, .max_tokens = 256, .max_running = 4, .max_step_tokens = 64, .hash_bits = 128
};

static struct model_task *submit_simple(struct model *m, uint32_t n_prompt, uint32_t n_output,
                                        int32_t priority, uint64_t client)
{
    fill_prompt(n_prompt, (int32_t)m->n_arrived + 100);
    const struct model_request r = { .prompt = prompt,
                                     .n_prompt = n_prompt,
                                     .n_output = n_output,
                                     .priority = priority,
                                     .client = client };
    return model_submit(m, &r);
}

/* Tokens of running answers come in every step; a long prompt gets what is left of the budget. */
static void test_decodes_first(void **state)
{
    (void)state;
    struct model m;
    model_open(&m, &roomy);
    struct model_task *a = submit_simple(&m, 10, 60, 0, 0), *b = submit_simple(&m, 10, 60, 0, 1);
    (void)model_step(&m, UINT32_MAX);
    struct model_task *c = submit_simple(&m, 200, 5, 0, 2);
    for (uint32_t i = 1; i <= 3; i++) {
        const uint32_t before_a = a->task.n_tokens, before_b = b->task.n_tokens;
        assert_int_equal(model_step(&m, UINT32_MAX), 64);
        assert_int_equal(a->task.n_tokens, before_a + 1);
        assert_int_equal(b->task.n_tokens, before_b + 1);
        assert_int_equal(c->task.n_computed, 62 * i);
    }
    /* a smaller chunk, to keep a step short */
    const uint32_t done = c->task.n_computed;
    assert_int_equal(model_step(&m, 7), 9);
    assert_int_equal(c->task.n_computed, done + 7);
    model_close(&m);
}

/* A more urgent task takes the place and the memory of the newest of the least urgent ones. */
static void test_priority(void **state)
{
    (void)state;
    struct model_params p = roomy;
    p.max_running = 2;
    p.n_blocks = 16;
    struct model m;
    model_open(&m, &p);
    struct model_task *a = submit_simple(&m, 30, 100, 0, 0), *b = submit_simple(&m, 30, 100, 0, 0);
    for (int i = 0; i < 5; i++)
        (void)model_step(&m, UINT32_MAX);
    assert_true(a->task.running && b->task.running);
    struct model_task *c = submit_simple(&m, 30, 10, 5, 0);
    (void)model_step(&m, UINT32_MAX);
    assert_true(a->task.running && !b->task.running && c->task.running);
    assert_int_equal(b->task.n_preempted, 1);
    while (!c->done)
        (void)model_step(&m, UINT32_MAX);
    (void)model_step(&m, UINT32_MAX);
    assert_true(b->task.running); /* back, and its blocks were still cached */
    assert_true(b->task.n_computed > 30);
    while (!b->done)
        (void)model_step(&m, UINT32_MAX);
    assert_true(a->done);
    model_close(&m);
}

/* A task that does not fit is looked up again only when a block was released or indexed, not in
 * every step. */
static void test_waiting_lookups(void **state)
{
    (void)state;
    struct model_params p = roomy;
    p.n_blocks = 16;
    struct model m;
    model_open(&m, &p);
    struct model_task *a = submit_simple(&m, 30, 120, 0, 0);
    (void)model_step(&m, UINT32_MAX);
    struct model_task *b = submit_simple(&m, 240, 4, 0, 0);
    const uint64_t before = m.scheduler.n_lookups;
    uint32_t n_steps = 0;
    for (; !a->done; n_steps++)
        (void)model_step(&m, UINT32_MAX);
    assert_true(n_steps > 100);
    assert_in_range(m.scheduler.n_lookups - before, 1, n_steps / MODEL_BLOCK + 2);
    while (!b->done)
        (void)model_step(&m, UINT32_MAX);
    model_close(&m);
}

/* A client with many requests does not keep another one waiting: the number of tokens given to each
 * stays within one request of the other's. */
static void test_fairness(void **state)
{
    (void)state;
    struct model_params p = roomy;
    p.max_running = 1;
    struct model m;
    model_open(&m, &p);
    for (int i = 0; i < 20; i++)
        (void)submit_simple(&m, 40, 10, 0, 1);
    (void)model_step(&m, UINT32_MAX);
    for (int i = 0; i < 5; i++)
        (void)submit_simple(&m, 40, 10, 0, 2);
    int done[3] = { 0 };
    bool counted[MODEL_MAX_TASKS] = { false };
    while (done[2] < 5) {
        (void)model_step(&m, UINT32_MAX);
        for (int i = 0; i < MODEL_MAX_TASKS; i++)
            if (m.tasks[i].done && !counted[i]) {
                counted[i] = true;
                done[m.tasks[i].task.client]++;
            }
        assert_true(done[1] <= done[2] + 2);
    }
    model_close(&m);
}

/* Answers to one prompt share its blocks and part in the last one. */
static void test_fork(void **state)
{
    (void)state;
    struct model m;
    model_open(&m, &roomy);
    struct model_task *a = submit_simple(&m, 40, 30, 0, 0);
    (void)model_step(&m, UINT32_MAX);
    fill_prompt(40, 100);
    const struct model_request r = { .prompt = prompt, .n_prompt = 40, .n_output = 30 };
    struct model_task *b = model_submit(&m, &r);
    assert_int_equal(a->task.sequence->n_tokens, 40);
    assert_true(qr_scheduler_fork(&m.scheduler, &b->task, &a->task));
    b->tokens[b->task.n_tokens++] = 77; /* sampled from the same logits */
    assert_int_equal(m.n_blocks[0] - quire_kv_free_block_count(m.kv, 0), 3);
    (void)model_step(&m, UINT32_MAX);
    assert_int_equal(m.n_blocks[0] - quire_kv_free_block_count(m.kv, 0), 4);
    while (!a->done || !b->done)
        (void)model_step(&m, UINT32_MAX);
    model_close(&m);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct model m;
    model_open(&m, &roomy);
    struct qr_scheduler_params p = m.scheduler.params;
    struct qr_scheduler s;
    for (size_t at = 1; at <= 4; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        p.allocator = &f.hooks;
        assert_status(QUIRE_E_NOMEM, qr_scheduler_init(&s, &p, NULL));
        assert_int_equal(f.live_count, 0);
    }
    model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interleavings),
        cmocka_unit_test(test_random_load),
        cmocka_unit_test(test_decodes_first),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_waiting_lookups),
        cmocka_unit_test(test_fairness),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
