/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_tables.c - kernel tables of the levels of this CPU, where vdpbf16ps is slow. */
#include "kernels/cpu.h"
#include "kernels/dispatch.h"
#include "quire_cmocka.h"
#include <string.h>

/* Replaces the function of cpu.c. */
bool __wrap_qr_cpu_slow_vdpbf16ps(void);
bool __wrap_qr_cpu_slow_vdpbf16ps(void) { return true; }

static const struct qr_kernels *table(const char *name)
{
    for (int i = 0; qr_level_name(i); i++)
        if (strcmp(qr_level_name(i), name) == 0)
            return qr_level_table(i);
    return NULL;
}

static void a_slow_instruction_is_avoided(void **state)
{
    (void)state;
    const struct qr_kernels *bf16 = table("avx512_bf16"), *base = table("avx512");
    if (!bf16)
        skip(); /* this CPU lacks it */
    assert_ptr_equal(bf16->linear_native_bf16, base->linear_native_bf16);
    assert_ptr_equal(bf16->attn_qk_bf16_native, base->attn_qk_bf16_native);
    assert_string_equal(bf16->impl.linear_native_bf16, base->impl.linear_native_bf16);
}

/* A level that takes a kernel of another converts activations for it. */
static void a_kernel_reads_one_form(void **state)
{
    (void)state;
    for (int i = 0; qr_level_name(i); i++)
        for (int j = 0; j < i; j++) {
            const struct qr_kernels *a = qr_level_table(i), *b = qr_level_table(j);
            if (a && b && a->linear_native_bf16 == b->linear_native_bf16)
                assert_int_equal(a->native_bf16_reads_f32, b->native_bf16_reads_f32);
        }
    const struct qr_kernels *amx = table("avx512_amx");
    assert_false(amx && amx->native_bf16_reads_f32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_instruction_is_avoided),
        cmocka_unit_test(a_kernel_reads_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
