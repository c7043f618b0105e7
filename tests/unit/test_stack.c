/* SPDX-License-Identifier: Apache-2.0 */
/* test_stack.c - stack use of every public call: at most 48 KiB of the calling thread. */
#include "../scenarios/scenarios.h"
#include "test_dir.h"
#include <pthread.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 20, LIMIT_BYTES = 48 * 1024, PAINT = 0xa5 };

struct measured {
    quire_status (*function)(struct run *run);
    struct run run;
    quire_status status;
};

static void *call(void *arg)
{
    struct measured *m = arg;
    m->status = m->function(&m->run);
    return NULL;
}

/* Bytes of stack that a thread touches which runs the function. */
static size_t stack_use(struct measured *m)
{
    unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_true(stack != MAP_FAILED);
    memset(stack, PAINT, STACK_BYTES);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstack(&attr, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, call, m), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    size_t untouched = 0;
    while (untouched < STACK_BYTES && stack[untouched] == PAINT)
        untouched++;
    munmap(stack, STACK_BYTES);
    return STACK_BYTES - untouched;
}

static quire_status nothing(struct run *run)
{
    run->hash = 1;
    return QUIRE_OK;
}

static void every_call(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* instrumented frames are several times larger */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    struct measured m = { .function = nothing };
    const size_t thread = stack_use(&m); /* what every thread needs */
    bool failed = false;
    for (size_t i = 0; i < n_scenarios; i++) {
        m = (struct measured){ scenarios[i].run, { .shared = shared_dir(), .dir = dir }, 0 };
        const size_t used = stack_use(&m) - thread;
        assert_int_equal(m.status, QUIRE_OK);
        printf("%-12s %6zu bytes of stack\n", scenarios[i].name, used);
        failed = failed || used > LIMIT_BYTES;
    }
    assert_false(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_call) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
