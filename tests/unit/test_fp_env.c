/* SPDX-License-Identifier: Apache-2.0 */
/* test_fp_env.c - the host's floating-point environment: rounding modes, flushed denormals,
 * unmasked exceptions and sticky flags change no result, and no call changes them. */
#include "../scenarios/scenarios.h"
#include "base/msan.h"
#include "test_dir.h"
#include <fenv.h>

struct environment {
    uint64_t control, flags;
};

#if defined(__x86_64__)
enum { FLUSH = 0x8040, MASKS = 0x1f80, FLAG = 0x01, FLAGS = 0x3f, ROUND_SHIFT = 13 };
static const unsigned modes[] = { 0, 1, 2, 3 }; /* nearest, down, up, to zero */

static struct environment get_environment(void)
{
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    QR_MSAN_WRITTEN(&mxcsr, sizeof mxcsr);
    QR_MSAN_WRITTEN(&x87, sizeof x87);
    return (struct environment){ (mxcsr & ~(uint32_t)FLAGS) | (uint64_t)x87 << 32, mxcsr & FLAGS };
}

static void set_environment(unsigned mode, bool flush, bool traps)
{
    const uint32_t mxcsr =
        mode << ROUND_SHIFT | (flush ? FLUSH : 0) | (traps ? 0 : MASKS) | (traps ? 0 : FLAG);
    const uint16_t x87 = (uint16_t)(0x300 | mode << 10 | (traps ? 0 : 0x3f));
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(mxcsr), "m"(x87));
}
#elif defined(__aarch64__)
static const unsigned modes[] = { 0, 1, 2, 3 };

static struct environment get_environment(void)
{
    struct environment e;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(e.control), "=r"(e.flags));
    return e;
}

static void set_environment(unsigned mode, bool flush, bool traps)
{
    const uint64_t control = (uint64_t)mode << 22 | (uint64_t)flush << 24 | (traps ? 0x9f00u : 0),
                   flags = 1;
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(control), "r"(flags));
}
#endif

static struct environment expected;
static const char *changed_by; /* the first call that changed the environment */

static void after(struct run *run, const char *call)
{
    (void)run;
    const struct environment now = get_environment();
    if (!changed_by && (now.control != expected.control || now.flags != expected.flags))
        changed_by = call;
}

static quire_status run_in(const struct scenario *scenario, unsigned mode, bool flush, bool traps,
                           struct run *run)
{
    fenv_t saved;
    *run = (struct run){ .shared = shared_dir(), .dir = dir, .after = after };
    changed_by = NULL;
    fegetenv(&saved);
    set_environment(mode, flush, traps);
    expected = get_environment();
    const quire_status s = scenario->run(run);
    fesetenv(&saved);
    if (changed_by)
        print_error("%s: the environment is changed by %s\n", scenario->name, changed_by);
    if (s != QUIRE_OK)
        print_error("%s: %s: %s\n", scenario->name, quire_status_name(s), run->err.msg);
    return changed_by ? QUIRE_E_INTERNAL : s;
}

static void every_call(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < n_scenarios; i++) {
        struct run reference, run;
        assert_int_equal(run_in(&scenarios[i], modes[0], false, false, &reference), QUIRE_OK);
        assert_true(reference.hash);
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
            for (int bits = 0; bits < 4; bits++) {
                assert_int_equal(run_in(&scenarios[i], modes[m], bits & 1, bits & 2, &run),
                                 QUIRE_OK);
                if (run.hash != reference.hash)
                    fail_msg("%s: rounding mode %u, flush %d, traps %d change the results",
                             scenarios[i].name, modes[m], bits & 1, bits >> 1);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_call) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
