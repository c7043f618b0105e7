/* SPDX-License-Identifier: Apache-2.0 */
/* test_team_size.c - the search for the team size of steps, on simulated machines. */
#include "engine/team_size.h"
#include "quire_cmocka.h"
#include <math.h>

/* ---- simulated machines */

static uint64_t random_state;

static double random_unit(void) /* [0, 1) */
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 40) / (1 << 24);
}

/* Seconds of a step without disturbance. */
typedef double machine_fn(uint32_t n_threads);

/* 64 CPUs on 32 cores; the second thread of a core slows its first one down. */
static double cores_32(uint32_t n) { return 0.001 + 0.1 / (n < 32 ? n : 32) * (n > 32 ? 1.3 : 1); }
static double two_cores(uint32_t n) { return n == 1 ? 0.1 : 0.055; }
static double perfect(uint32_t n) { return 1.0 / n; }
static double flat(uint32_t n) { return n ? 0.02 : 0; }
static double serial(uint32_t n) { return 0.01 * n; } /* every thread costs */
static double short_serial(uint32_t n) { return 0.0005 * n; }
/* Memory-bound: 8 threads reach the bandwidth, more gain little. */
static double bandwidth(uint32_t n) { return n < 8 ? 0.08 / n : 0.01 - 0.000001 * n; }
/* A neighbour occupies half of 16 CPUs: every barrier waits for a shared CPU. */
static double cores_16(uint32_t n) { return 0.16 / n; }
static double half_of_16(uint32_t n) { return n <= 8 ? 0.16 / n : 0.16 / n * 3; }

struct machine {
    machine_fn *seconds;
    double noise; /* steps take up to this fraction less or more */
};

static struct qr_topology flat_topology(uint32_t n)
{
    struct qr_topology t = { .n_cpus = n, .n_cores = n, .n_llcs = 1, .n_nodes = 1 };
    t.n_fast_cpus = t.n_fast_cores = t.llc_cores = t.node_cpus = t.node_cores = n;
    return t;
}

/* 2 nodes of 16 cores with two threads each. */
static struct qr_topology server(void)
{
    struct qr_topology t = flat_topology(64);
    t.n_cores = t.n_fast_cores = 32;
    t.node_cpus = 32;
    t.node_cores = t.llc_cores = 16;
    t.n_llcs = t.n_nodes = 2;
    return t;
}

static struct qr_team_size sizes;

/* Runs steps of one class and returns their time in seconds. */
static double run(const struct machine *m, uint32_t steps, uint32_t n_seqs, uint32_t n_rows)
{
    double total = 0;
    for (uint32_t i = 0; i < steps; i++) {
        const uint32_t n = qr_team_size_choose(&sizes, n_seqs, n_rows);
        const double s = m->seconds(n) * (1 + m->noise * (2 * random_unit() - 1));
        qr_team_size_record(&sizes, n_seqs, n_rows, n, s);
        total += s;
    }
    return total;
}

static double decode(const struct machine *m, uint32_t steps) { return run(m, steps, 1, 1); }
static uint32_t chosen(void) { return qr_team_size_choose(&sizes, 1, 1); }

static void begin(const struct qr_topology *t, uint32_t n_threads)
{
    qr_team_size_init(&sizes, t, n_threads);
    assert_int_equal(chosen(), n_threads ? n_threads : 1);
}

static void begin_flat(uint32_t n)
{
    const struct qr_topology t = flat_topology(n);
    begin(&t, n);
}

/* ---- candidates and classes */

static void expect_sizes(const uint32_t *want, uint32_t n)
{
    assert_int_equal(sizes.n_sizes, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(sizes.sizes[i], want[i]);
}

#define EXPECT_SIZES(...)                                                                          \
    expect_sizes((const uint32_t[]){ __VA_ARGS__ },                                                \
                 sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void candidates(void **state)
{
    (void)state;
    struct qr_topology t = server();
    begin(&t, 64);
    EXPECT_SIZES(1, 2, 4, 8, 16, 32, 64);
    begin(&t, 20); /* a quota: larger counts of the machine do not matter */
    EXPECT_SIZES(1, 2, 4, 8, 16, 20);
    begin_flat(1);
    EXPECT_SIZES(1);
    begin_flat(2);
    EXPECT_SIZES(1, 2);
    begin_flat(6);
    EXPECT_SIZES(1, 2, 4, 6);
    t = flat_topology(20); /* 4 performance cores with two threads each, 12 others */
    t.n_cores = 16;
    t.n_fast_cores = 4;
    t.n_fast_cpus = 8;
    begin(&t, 20);
    EXPECT_SIZES(1, 2, 4, 8, 16, 20);
    t = flat_topology(36);
    t.n_cores = t.n_fast_cores = 18; /* no 16 beside 18, and no 32 beside 36 */
    begin(&t, 36);
    EXPECT_SIZES(1, 2, 4, 8, 18, 36);
    t = (struct qr_topology){ 0 };
    begin(&t, 0);
    EXPECT_SIZES(1);
    t = flat_topology(1024);
    t.n_cores = 1000;
    t.n_fast_cores = 900;
    t.n_fast_cpus = 901;
    t.node_cores = 100;
    t.node_cpus = 200;
    t.llc_cores = 7;
    begin(&t, 1024);
    assert_in_range(sizes.n_sizes, 8, QR_TEAM_SIZE_CANDIDATES);
}

/* Steps that differ in kind or width search on their own. */
static void classes(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_seqs, n_rows;
    } steps[] = { { 1, 1 },   { 2, 2 },   { 3, 3 },   { 8, 8 },   { 16, 16 }, { 20, 20 },
                  { 64, 64 }, { 65, 65 }, { 1, 2 },   { 2, 4 },   { 1, 8 },   { 1, 16 },
                  { 3, 32 },  { 1, 64 },  { 1, 100 }, { 1, 256 }, { 1, 512 }, { 1, 513 } };
    enum { N = sizeof steps / sizeof *steps };
    _Static_assert((int)N == (int)QR_TEAM_SIZE_CLASSES, "one step of every class");
    const struct machine best = { short_serial, 0 };
    begin_flat(16);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = i; k < N; k++)
            assert_int_equal(qr_team_size_choose(&sizes, steps[k].n_seqs, steps[k].n_rows), 16);
        run(&best, 100, steps[i].n_seqs, steps[i].n_rows);
        assert_int_equal(qr_team_size_choose(&sizes, steps[i].n_seqs, steps[i].n_rows), 1);
    }
    /* these share a class with one of the above */
    assert_int_equal(qr_team_size_choose(&sizes, 4, 4), 1);
    assert_int_equal(qr_team_size_choose(&sizes, UINT32_MAX, UINT32_MAX), 1);
    assert_int_equal(qr_team_size_choose(&sizes, 0, UINT32_MAX), 1);
    assert_int_equal(qr_team_size_choose(&sizes, 0, 0), 1);
}

/* The time of wide prefill counts per row: 512 rows are no slower than 257. */
static void per_row(void **state)
{
    (void)state;
    begin_flat(8);
    for (uint32_t i = 0; i < 400; i++) {
        const uint32_t rows = i % 3 ? 512 : 257, n = qr_team_size_choose(&sizes, 1, rows);
        qr_team_size_record(&sizes, 1, rows, n, perfect(n) * rows);
    }
    assert_int_equal(qr_team_size_choose(&sizes, 1, 300), 8);
    for (uint32_t i = 0; i < 100; i++) { /* no window looks like a change */
        assert_int_equal(qr_team_size_choose(&sizes, 1, 300), 8);
        qr_team_size_record(&sizes, 1, i < 50 ? 257 : 512, 8, perfect(8) * (i < 50 ? 257 : 512));
    }
}

/* Bit i: the size of candidate i ran one of 100 steps of one sequence. */
static uint32_t tried(machine_fn *seconds, uint32_t n_rows)
{
    const struct machine m = { seconds, 0 };
    uint32_t set = 0;
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t n = qr_team_size_choose(&sizes, 1, n_rows);
        for (uint32_t k = 0; k < sizes.n_sizes; k++)
            set |= (uint32_t)(sizes.sizes[k] == n) << k;
        run(&m, 1, 1, n_rows);
    }
    return set;
}

/* Long steps of 17 and more rows of a prompt never run on fewer threads than there are cores, until
 * the machine changes. */
static void prompts_use_all_cores(void **state)
{
    (void)state;
    static const uint32_t rows[] = { 17, 33, 512, 2048 };
    const struct qr_topology t = server(); /* sizes 1, 2, 4, 8, 16, 32, 64 */
    for (int i = 0; i < 4; i++) {
        begin_flat(2);
        assert_int_equal(tried(two_cores, rows[i]), 2);
        qr_team_size_set_machine(&sizes, 5);
        qr_team_size_set_machine(&sizes, 6);
        assert_int_equal(tried(two_cores, rows[i]), 3);
        begin(&t, 64);
        assert_int_equal(tried(flat, rows[i]), 0x60);
        begin(&t, 20);
        assert_int_equal(tried(flat, rows[i]), 0x20);
    }
    begin_flat(2);
    assert_int_equal(tried(two_cores, 16), 3);
    assert_int_equal(tried(short_serial, 17), 3);
}

/* ---- what the search finds, and what it costs */

static void check_search(machine_fn *seconds, uint32_t n_threads, uint32_t best, double regret)
{
    const struct machine m = { seconds, 0 };
    const double total = decode(&m, 200);
    assert_int_equal(chosen(), best);
    if (!(total <= 200 * seconds(best) * (1 + regret)))
        fail_msg("%u threads: %g s, %g at best", n_threads, total, 200 * seconds(best));
}

static void machines(void **state)
{
    (void)state;
    const struct qr_topology t = server();
    begin(&t, 64);
    check_search(cores_32, 64, 32, 0.05);
    begin_flat(2);
    check_search(two_cores, 2, 2, 0.05);
    begin_flat(1);
    check_search(flat, 1, 1, 1e-9);
    begin_flat(64);
    check_search(perfect, 64, 64, 0.05);
    begin_flat(64);
    check_search(flat, 64, 1, 1e-9);
    begin_flat(64);
    check_search(bandwidth, 64, 8, 0.05);
    begin_flat(8); /* the search starts at 8 and passes 4 and 2, each 2 times slower */
    check_search(serial, 8, 1, 0.15);
}

/* With 20 % of noise either way, the choice is near the best and settled for most of the time. */
static void noise(void **state)
{
    (void)state;
    static machine_fn *const fns[] = { cores_32, bandwidth, perfect, two_cores, flat };
    static const uint32_t n_threads[] = { 64, 64, 64, 2, 64 };
    double worst = 1;
    for (uint64_t seed = 1; seed <= 500; seed++)
        for (int f = 0; f < 5; f++) {
            const struct machine m = { fns[f], 0.2 };
            random_state = seed;
            begin_flat(n_threads[f]);
            const double total = decode(&m, 200);
            double best = INFINITY;
            for (uint32_t i = 0; i < sizes.n_sizes; i++)
                best = fmin(best, fns[f](sizes.sizes[i]));
            assert_true(fns[f](chosen()) <= 1.15 * best);
            worst = fmax(worst, total / (200 * best));
        }
    print_message("worst time of 200 steps: %.3f of the best\n", worst);
    assert_true(worst <= 1.15); /* of which the noise itself is up to 3 % */
}

/* The measured minimum of each size since the last change of anything, kept apart from the module's
 * own. */
struct record {
    double least[1025];
};

static double table[1025];
static double from_table(uint32_t n) { return table[n]; }

/* On machines of random times the settled size is never measured slower, by more than 5 %, than a
 * smaller one. */
static void never_slower_than_smaller(void **state)
{
    (void)state;
    random_state = 7;
    for (int world = 0; world < 2000; world++) {
        const uint32_t n_threads = 1 + (uint32_t)(random_unit() * 64);
        const double noise = world % 2 ? 0.3 * random_unit() : 0;
        struct record r;
        for (uint32_t n = 0; n <= 1024; n++) {
            table[n] = 0.01 * (0.5 + random_unit());
            r.least[n] = INFINITY;
        }
        begin_flat(n_threads);
        for (int i = 0; i < 300 && !sizes.searches[0].settled; i++) {
            const uint32_t n = chosen();
            const double s = from_table(n) * (1 + noise * random_unit());
            r.least[n] = fmin(r.least[n], s);
            qr_team_size_record(&sizes, 1, 1, n, s);
        }
        assert_true(sizes.searches[0].settled);
        for (uint32_t n = 1; n < chosen(); n++)
            assert_true(r.least[chosen()] <= 1.05 * r.least[n]);
    }
}

/* ---- changes */

/* A neighbour takes half of the CPUs and leaves again. */
static void neighbour(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        const struct machine alone = { cores_16, noisy ? 0.2 : 0 },
                             shared = { half_of_16, noisy ? 0.2 : 0 };
        random_state = 3;
        begin_flat(16);
        decode(&alone, 200);
        assert_int_equal(chosen(), 16);
        decode(&shared, 200);
        assert_int_equal(chosen(), 8);
        decode(&alone, QR_TEAM_SIZE_RECHECK_STEPS + 100);
        assert_int_equal(chosen(), 16);
    }
}

/* A neighbour that appears while the search runs, at each of its steps. */
static void neighbour_in_search(void **state)
{
    (void)state;
    const struct machine alone = { cores_16, 0 }, shared = { half_of_16, 0 };
    for (uint32_t at = 0; at < 40; at++) {
        begin_flat(16);
        decode(&alone, at);
        decode(&shared, 200);
        assert_int_equal(chosen(), 8);
    }
}

/* A change of the signature starts a search at once; the first signature is none. */
static void signature(void **state)
{
    (void)state;
    const struct machine alone = { cores_16, 0 }, shared = { half_of_16, 0 };
    begin_flat(16);
    decode(&alone, 100);
    qr_team_size_set_machine(&sizes, 5);
    assert_true(sizes.searches[0].settled);
    qr_team_size_set_machine(&sizes, 5);
    assert_true(sizes.searches[0].settled);
    qr_team_size_set_machine(&sizes, 6);
    assert_false(sizes.searches[0].settled);
    assert_int_equal(chosen(), 16); /* the search begins where the last one ended */
    decode(&shared, 30);
    assert_int_equal(chosen(), 8);
    qr_team_size_set_machine(&sizes, 5);
    decode(&alone, 30);
    assert_int_equal(chosen(), 16);
}

/* A machine that never rests costs fewer and fewer searches. */
static void restless(void **state)
{
    (void)state;
    uint32_t searching = 0;
    begin_flat(16);
    for (uint32_t i = 0; i < 4000; i++) {
        const uint32_t n = chosen();
        searching += !sizes.searches[0].settled;
        qr_team_size_record(&sizes, 1, 1, n, cores_16(n) * (1 + i / 64));
    }
    assert_in_range(searching, 8, 200);
}

/* The same calls give the same choices; values that are no times are ignored. */
static void deterministic(void **state)
{
    (void)state;
    static const double no_times[] = { 0, -1, NAN, INFINITY };
    const struct machine m = { cores_32, 0.2 };
    uint32_t first[300];
    for (int round = 0; round < 2; round++) {
        const struct qr_topology t = server();
        random_state = 11;
        begin(&t, 64);
        for (int i = 0; i < 300; i++) {
            const uint32_t n = chosen();
            decode(&m, 1);
            for (size_t k = 0; k < 4 * (size_t)round; k++)
                qr_team_size_record(&sizes, 1, 1, chosen(), no_times[k]);
            if (round) /* a step on another number of threads than chosen */
                qr_team_size_record(&sizes, 1, 1, chosen() + 1, 1e-9);
            if (!round)
                first[i] = n;
            assert_int_equal(n, first[i]);
        }
    }
}

/* Work that continues a step asks for the threads of that step, also if it did not count. */
static void test_last(void **state)
{
    (void)state;
    const struct qr_topology t = flat_topology(8);
    qr_team_size_init(&sizes, &t, 8);
    qr_team_size_record(&sizes, 1, 1, 8, 0.1);
    assert_int_equal(sizes.n_last, 8);
    qr_team_size_record(&sizes, 1, 64, 3, INFINITY);
    assert_int_equal(sizes.n_last, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last),
        cmocka_unit_test(candidates),
        cmocka_unit_test(classes),
        cmocka_unit_test(per_row),
        cmocka_unit_test(prompts_use_all_cores),
        cmocka_unit_test(machines),
        cmocka_unit_test(noise),
        cmocka_unit_test(never_slower_than_smaller),
        cmocka_unit_test(neighbour),
        cmocka_unit_test(neighbour_in_search),
        cmocka_unit_test(signature),
        cmocka_unit_test(restless),
        cmocka_unit_test(deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
