/* SPDX-License-Identifier: Apache-2.0 */
/* test_base.c - status records, checked sizes, allocation helpers, thread teams, dispatch. */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/dispatch.h"
#include "base/error.h"
#include "base/reader.h"
#include "base/share.h"
#include "base/threads.h"
#include "quire_cmocka.h"
#include <quire/cpu.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void status_names(void **state)
{
    (void)state;
    assert_string_equal(quire_status_name(QUIRE_E_RANGE), "QUIRE_E_RANGE");
    assert_string_equal(quire_status_text(QUIRE_OK), "success");
    assert_string_equal(quire_status_text((quire_status)999), "unknown status");
    assert_int_equal(QUIRE_E_INTERNAL, 16); /* append only */
    assert_string_equal(quire_version(), "0.1.0");
}

static void error_records(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_int_equal(qr_fail_at(&err, QUIRE_E_FORMAT, 77, "field %s", "x"), QUIRE_E_FORMAT);
    assert_int_equal(err.code, QUIRE_E_FORMAT);
    assert_int_equal(err.offset, 77);
    assert_string_equal(err.msg, "field x");
    qr_fail_errno(&err, QUIRE_E_IO, 2, "open '%s'", "f");
    assert_int_equal(err.detail, 2);
    assert_string_equal(err.msg, "open 'f': No such file or directory");
    /* a long message is cut, never overrun; a record of a smaller layout and NULL are left alone */
    char big[1000];
    memset(big, 'a', sizeof big);
    big[999] = 0;
    qr_fail(&err, QUIRE_E_LIMIT, "%s", big);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    struct quire_error small = { .struct_size = 8 };
    assert_int_equal(qr_fail(&small, QUIRE_E_LIMIT, "x"), QUIRE_E_LIMIT);
    assert_int_equal(small.code, QUIRE_OK);
    assert_int_equal(qr_fail(NULL, QUIRE_E_LIMIT, "x"), QUIRE_E_LIMIT);
}

static void checked_sizes(void **state)
{
    (void)state;
    size_t n;
    assert_true(qr_mul3_size(3, 4, 5, &n) && n == 60);
    assert_false(qr_mul_size(SIZE_MAX / 2, 3, &n));
    assert_false(qr_mul4_size(1u << 20, 1u << 20, 1u << 20, 1u << 20, &n));
    assert_false(qr_add_size(SIZE_MAX, 1, &n));
    assert_true(qr_align_size(65, 64, &n) && n == 128);
    assert_false(qr_align_size(SIZE_MAX - 3, 64, &n));
}

static void bounded_reader(void **state)
{
    (void)state;
    const uint8_t bytes[6] = { 1, 0, 0, 0, 9, 8 };
    struct qr_reader r = { bytes, sizeof bytes, 0 };
    uint32_t u;
    uint64_t big;
    assert_true(qr_read_u32(&r, &u) && u == 1);
    assert_false(qr_read_u64(&r, &big));
    assert_int_equal(r.pos, 4); /* a refused read does not move */
    const uint8_t *p;
    assert_false(qr_read_bytes(&r, SIZE_MAX, &p));
    assert_true(qr_read_bytes(&r, 2, &p) && p[1] == 8);
}

static void allocation_helpers(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    assert_null(qr_alloc(&f.hooks, SIZE_MAX, 2));
    void *p = qr_alloc(&f.hooks, 0, 8);
    assert_non_null(p);
    qr_free(&f.hooks, p, 0, 8);
    char *s = qr_strndup(&f.hooks, "hello", 2);
    assert_string_equal(s, "he");
    qr_strfree(&f.hooks, s);
    void *grown = NULL;
    size_t cap = 0;
    assert_true(qr_grow(&f.hooks, &grown, &cap, 100, 8) && cap >= 100);
    assert_false(qr_grow(&f.hooks, &grown, &cap, SIZE_MAX / 4, 8));
    qr_free(&f.hooks, grown, cap, 8);
    assert_int_equal(f.live_bytes, 0);
    assert_int_equal(f.live_count, 0);
}

static void *misaligned_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    (void)align;
    return (char *)malloc(size + 1) + 1;
}

static void misaligned_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free((char *)p - 1);
}

static void broken_hook_is_refused(void **state)
{
    (void)state;
    const struct quire_allocator hooks = { NULL, misaligned_alloc, misaligned_free };
    assert_null(qr_alloc_aligned(&hooks, 100, 64));
}

static void arena(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    struct qr_arena a;
    qr_arena_init(&a, &f.hooks, 100000);
    size_t n = 0;
    while (qr_arena_alloc(&a, 100, 1))
        n++;
    assert_in_range(n, 500, 1000); /* the limit holds */
    assert_in_range(a.total_bytes, 50000, 100000);
    qr_arena_free(&a);
    assert_int_equal(f.live_bytes, 0);
}

struct tally {
    uint32_t seen[64], size, rounds;
    uint32_t counter;
    bool bad;
};

static void tally_part(void *arg, const struct quire_team *team)
{
    struct tally *t = arg;
    __atomic_fetch_add(&t->seen[team->rank], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&t->size, team->size, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < t->rounds; i++) {
        __atomic_fetch_add(&t->counter, 1, __ATOMIC_RELAXED);
        quire_team_barrier(team);
        if (__atomic_load_n(&t->counter, __ATOMIC_RELAXED) != team->size * (i + 1))
            __atomic_store_n(&t->bad, true, __ATOMIC_RELAXED);
        quire_team_barrier(team);
    }
}

static void run_backend(enum quire_thread_backend backend)
{
    for (uint32_t n = 1; n <= 7; n++) {
        struct quire_threads_params p;
        quire_threads_params_default(&p);
        p.backend = backend;
        p.n_threads = n;
        struct quire_threads *threads;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
        for (int run = 0; run < 20; run++) {
            struct tally t = { .rounds = 50 };
            assert_status(QUIRE_OK, quire_threads_run(threads, tally_part, &t));
            assert_false(t.bad);
            for (uint32_t r = 0; r < t.size; r++)
                assert_int_equal(t.seen[r], 1);
            assert_in_range(t.size, 1, n);
        }
        quire_threads_destroy(threads);
    }
}

static void pthread_team(void **state)
{
    (void)state;
    run_backend(QUIRE_THREADS_PTHREAD);
}

static void openmp_team(void **state)
{
    (void)state;
#ifdef QUIRE_WITH_OPENMP
    run_backend(QUIRE_THREADS_OPENMP);
#else
    skip();
#endif
}

static double cpu_seconds(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Between runs a team of the default backend sleeps: of 200 ms it spins less than one. */
static void idle_team(void **state)
{
    (void)state;
    struct quire_threads_params p;
    quire_threads_params_default(&p);
    p.n_threads = 4;
    struct quire_threads *threads;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
    struct tally t = { .rounds = 50 };
    assert_status(QUIRE_OK, quire_threads_run(threads, tally_part, &t));
    const double before = cpu_seconds();
    assert_int_equal(usleep(200000), 0);
    assert_true(cpu_seconds() - before < 0.04);
    quire_threads_destroy(threads);
}

/* Every piece is given out once, whoever comes first and however long a piece takes. */
struct shared {
    struct qr_share_line lines[8];
    uint32_t n, stages, twice;
    uint32_t seen[200];
};

static void share_part(void *arg, const struct quire_team *team)
{
    struct shared *sh = arg;
    for (uint32_t stage = 0; stage < sh->stages; stage++) {
        const uint32_t n = (sh->n + stage * 7) % 200;
        struct qr_share s = qr_share_begin(sh->lines, team, n);
        for (size_t i; qr_share_next(&s, &i);) {
            if (__atomic_fetch_add(&sh->seen[i], 1, __ATOMIC_RELAXED) != stage)
                __atomic_fetch_add(&sh->twice, 1, __ATOMIC_RELAXED);
            if (team->rank == 0 && i == 0 && stage % 8 == 0)
                usleep(200); /* the others finish the run of this member */
        }
        for (size_t i = n + team->rank; i < 200; i += team->size)
            __atomic_fetch_add(&sh->seen[i], 1, __ATOMIC_RELAXED);
        quire_team_barrier(team);
    }
}

static void shared_pieces(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 8; size++) {
        struct quire_threads_params p;
        quire_threads_params_default(&p);
        p.n_threads = size;
        struct quire_threads *threads;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, quire_threads_create(&p, &threads, &err));
        struct shared sh = { .n = size, .stages = 60 };
        assert_status(QUIRE_OK, quire_threads_run(threads, share_part, &sh));
        assert_int_equal(sh.twice, 0);
        for (int i = 0; i < 200; i++)
            assert_int_equal(sh.seen[i], sh.stages);
        quire_threads_destroy(threads);
    }
}

struct reenter {
    struct quire_threads *threads;
    quire_status inner;
};

static void reenter_part(void *arg, const struct quire_team *team)
{
    struct reenter *r = arg;
    struct tally t = { 0 };
    if (team->rank == 0)
        r->inner = quire_threads_run(r->threads, tally_part, &t);
}

static void thread_arguments(void **state)
{
    (void)state;
    struct quire_threads *threads = (void *)1;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params p;
    quire_threads_params_default(&p);
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, NULL, &err));
    p.n_threads = 100000;
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, &threads, &err));
    assert_null(threads);
    p.n_threads = 2;
    p.struct_size = 3;
    assert_status(QUIRE_E_MISUSE, quire_threads_create(&p, &threads, &err));
    quire_threads_params_default(&p);
    p.backend = (enum quire_thread_backend)9;
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&p, &threads, &err));
    assert_status(QUIRE_OK, quire_threads_create(NULL, &threads, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_threads_run(threads, NULL, NULL));
    struct reenter r = { threads, QUIRE_OK };
    assert_status(QUIRE_OK, quire_threads_run(threads, reenter_part, &r));
    assert_int_equal(r.inner, QUIRE_E_BUSY);
    quire_threads_destroy(threads);
    quire_threads_destroy(NULL);
    assert_in_range(quire_threads_default_count(), 1, 1024);
}

static void thread_allocation_failures(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        fail_alloc_init(&f, n, true);
        struct quire_threads_params p = { sizeof p, QUIRE_THREADS_PTHREAD, 3, &f.hooks };
        struct quire_threads *threads;
        const quire_status s = quire_threads_create(&p, &threads, NULL);
        quire_threads_destroy(threads);
        assert_int_equal(f.live_bytes, 0);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
    }
}

#if defined(__x86_64__)
static void csr_part(void *arg, const struct quire_team *team)
{
    if (team->rank == 0)
        *(unsigned *)arg = _mm_getcsr() & 0xffc0;
}

static void host_rounding_mode(void **state)
{
    (void)state;
    struct quire_threads *threads;
    assert_status(QUIRE_OK, quire_threads_create(NULL, &threads, NULL));
    const unsigned host =
        0x1f80 | 0x8040 | 0x6000; /* flush to zero, denormals are zero, toward zero */
    unsigned inside = 0;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(host);
    const quire_status s = quire_threads_run(threads, csr_part, &inside);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(s, QUIRE_OK);
    assert_int_equal(inside, 0x1f80);
    assert_int_equal(after & 0xffc0, host & 0xffc0);
    quire_threads_destroy(threads);
}
#endif

static void levels(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_kernels *k;
    unsetenv("QUIRE_ISA");
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &k, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_kernels_get("sse9", &k, &err));
    assert_non_null(strstr(err.msg, "generic"));
    assert_null(k);
    assert_status(QUIRE_OK, qr_kernels_get("generic", &k, &err));
    assert_string_equal(k->level, "generic");
    setenv("QUIRE_ISA", "generic", 1);
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &k, &err));
    assert_string_equal(k->level, "generic");
    setenv("QUIRE_ISA", "nonsense", 1);
    assert_status(QUIRE_E_INVALID_ARG, qr_kernels_get(NULL, &k, &err));
    assert_non_null(strstr(err.msg, "QUIRE_ISA"));
    unsetenv("QUIRE_ISA");
    for (int i = 0; quire_cpu_level_name(i); i++) {
        const quire_status want = quire_cpu_level_usable(i) ? QUIRE_OK : QUIRE_E_UNSUPPORTED;
        assert_status(want, qr_kernels_get(quire_cpu_level_name(i), &k, &err));
    }
}

static void tables_are_complete(void **state)
{
    (void)state;
    for (int i = 0; qr_level_name(i); i++) {
        const struct quire_kernels *k = qr_level_table(i);
        if (!k)
            continue;
#define X(ret, name, params)                                                                       \
    assert_true(k->name != NULL);                                                                  \
    assert_non_null(k->impl.name);
        QUIRE_KERNELS(X)
#undef X
    }
}

static void describe(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t needed = 0;
    assert_status(QUIRE_OK, quire_cpu_describe("generic", NULL, 0, &needed, &err));
    char *text = malloc(needed);
    assert_status(QUIRE_E_LIMIT, quire_cpu_describe("generic", text, needed - 1, NULL, &err));
    assert_status(QUIRE_OK, quire_cpu_describe("generic", text, needed, NULL, &err));
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, "level     generic"));
    free(text);
    assert_status(QUIRE_E_INVALID_ARG, quire_cpu_describe(NULL, NULL, 5, NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_names),
        cmocka_unit_test(error_records),
        cmocka_unit_test(checked_sizes),
        cmocka_unit_test(bounded_reader),
        cmocka_unit_test(allocation_helpers),
        cmocka_unit_test(broken_hook_is_refused),
        cmocka_unit_test(arena),
        cmocka_unit_test(pthread_team),
        cmocka_unit_test(openmp_team),
        cmocka_unit_test(idle_team),
        cmocka_unit_test(shared_pieces),
        cmocka_unit_test(thread_arguments),
        cmocka_unit_test(thread_allocation_failures),
#if defined(__x86_64__)
        cmocka_unit_test(host_rounding_mode),
#endif
        cmocka_unit_test(levels),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
