/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized_faults.c - quantized matrices while every allocation or every read fails. */
#include "test_failing_reads.h"
#include "test_quantized_good.h"

/* Opens the tensors and reads all of the first matrix, row by row and in two parts. */
static quire_status open_and_read(const struct qr_quantization_config *config,
                                  const struct quire_allocator *a, struct quire_error *err)
{
    struct qr_weights w = { .config.quantization = *config, .allocator = a };
    struct qr_source_tensor t;
    qr_arena_init(&w.lists, a, 0);
    quire_status s = qr_safetensors_open_dir(dir, a, &w.safetensors, err);
    if (s == QUIRE_OK)
        s = qr_quantized_open(&w, err);
    if (s == QUIRE_OK) {
        qr_weights_source_tensor(&w, 0, &t);
        uint8_t *rows = malloc(t.bytes);
        s = qr_weights_read_source(&w, 0, 0, t.bytes, rows, err);
        if (s == QUIRE_OK)
            s = qr_weights_read_source(&w, 0, 1, t.bytes - 1, rows, err);
        free(rows);
    }
    qr_quantized_close(&w);
    qr_safetensors_close(w.safetensors);
    qr_arena_free(&w.lists);
    return s;
}

/* Every allocation and every read of all formats fails. */
static void memory_and_reads_can_fail(void **state)
{
    (void)state;
    static const struct {
        const struct qr_quantization_config *config;
        void (*make)(void);
    } formats[] = { { &gptq_config, make_gptq },
                    { &awq_config, make_awq },
                    { &fp8_config, make_fp8 },
                    { &compressed_config, make_packed },
                    { &compressed_config, make_int8 },
                    { &mxfp4_config, make_mxfp4 },
                    { &nf4_config, make_nf4 },
                    { &llm_int8_config, make_llm_int8 },
                    { &modelopt_config, make_modelopt },
                    { &compressed_config, make_packed_nvfp4 },
                    { &compressed_config, make_packed_mxfp4 } };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct fail_alloc a;
        formats[i].make();
        write_stored();
        for (size_t n = 1, done = 0; !done; n++) {
            fail_alloc_init(&a, n, false);
            const quire_status s = open_and_read(formats[i].config, &a.hooks, &err);
            assert_int_equal(a.live_count, 0);
            done = a.calls < n;
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
            assert_true(done || strstr(err.msg, "memory"));
        }
        for (size_t n = 1, done = 0; !done; n++) {
            fail_alloc_init(&a, 0, false);
            fail_read(n);
            const quire_status s = open_and_read(formats[i].config, &a.hooks, &err);
            assert_int_equal(a.live_count, 0);
            done = n_reads < n;
            fail_read(0);
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_IO);
            assert_true(done || strstr(err.msg, "read error"));
        }
        forget_stored();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_and_reads_can_fail) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
