/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_no_malloc.c - a step of a model allocates nothing with the C library's functions. */
#include "test_model_world.h"
#include "test_no_malloc.h"

static void forward(void **state)
{
    (void)state;
    static const enum quire_compute modes[] = { QUIRE_COMPUTE_NATIVE, QUIRE_COMPUTE_F32 };
    static int32_t ids[2 * TOKENS];
    for (int i = 0; i < 2 * TOKENS; i++)
        ids[i] = 5 + i * 7 % 90;
    for (int mode = 0; mode < 2; mode++)
        for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
            struct world w;
            struct quire_model_params mp;
            quire_model_params_init(&mp, sizeof mp);
            mp.path = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";
            mp.compute = modes[mode];
            open_world_params(&w, mp, n_threads, 0);
            float *logits = calloc((size_t)2 * TOKENS * w.info.vocab_size, sizeof *logits);
            const uint64_t before = count_allocations();
            step(&w, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS, 9 }, logits);
            for (int32_t i = 0; i < 20; i++) /* decode, with and without a chunk beside it */
                step(&w, ids, (int32_t[]){ TOKENS + i, 9 + i * 2 }, (int32_t[]){ 1, i % 2 ? 0 : 2 },
                     logits);
            assert_int_equal(count_allocations(), before);
            free(logits);
            close_world(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
