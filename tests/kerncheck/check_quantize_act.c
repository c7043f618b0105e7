/* SPDX-License-Identifier: Apache-2.0 */
/* check_quantize_act.c - quantization of activations to int8 against its definition. */
#include "kerncheck.h"
#include "kernels/kernels_linear.h"
#include <math.h>
#include <stddef.h>

typedef void quant_kernel(struct qr_q8_block *q, float *half_sums, const float *x, size_t n_blocks);

static void check_block(struct kc_env *env, const struct qr_q8_block *b, const float half_sums[2],
                        const float *x)
{
    float amax = 0;
    int sums[2] = { 0, 0 };
    for (int i = 0; i < 32; i++)
        amax = isfinite(x[i]) ? fmaxf(amax, fabsf(x[i])) : INFINITY;
    for (int i = 0; i < 32; i++) {
        const int expected =
            amax < 0x1p-100f || isinf(amax) ? 0 : (int)nearbyint((double)(x[i] * (127 / amax)));
        sums[i / 16] += b->q[i];
        if (b->q[i] != expected)
            kc_fail(env, "value %d: %g of amax %g became %d, not %d", i, (double)x[i], (double)amax,
                    b->q[i], expected);
    }
    const float scale = amax < 0x1p-100f ? 0 : amax / 127;
    if (isinf(amax) ? !isnan(b->d) : b->d != scale)
        kc_fail(env, "amax %g: scale %g", (double)amax, (double)b->d);
    if (b->neg_half_sum != -sums[0] || b->neg_sum != -sums[0] - sums[1])
        kc_fail(env, "sums %d %d for %d %d", b->neg_half_sum, b->neg_sum, sums[0], sums[1]);
    const float d_sum = scale * (float)(sums[0] + sums[1]);
    if (isinf(amax) ? !isnan(b->d_sum) : b->d_sum != d_sum)
        kc_fail(env, "d_sum %g, not %g", (double)b->d_sum, (double)d_sum);
    for (int half = 0; half < 2; half++)
        if (isinf(amax) ? !isnan(half_sums[half]) : half_sums[half] != scale * (float)sums[half])
            kc_fail(env, "half sum %g of %g * %d", (double)half_sums[half], (double)scale,
                    sums[half]);
}

static void check_quant(struct kc_env *env, quant_kernel *kernel)
{
    for (int r = 0; r < env->rounds && !env->failures; r++) {
        const size_t nb = (size_t)kc_int(env, 1, 9);
        float *x = kc_buffer_end(nb * 32 * sizeof *x);
        struct qr_q8_block *q = kc_buffer_end(nb * sizeof *q);
        float *half_sums = kc_buffer_end(2 * nb * sizeof *half_sums);
        for (size_t b = 0; b < nb; b++) {
            const int kind = kc_int(env, 0, 9);
            kc_fill_normal(env, x + 32 * b, 32,
                           kind == 0   ? 0
                           : kind == 1 ? 1e-33f
                           : kind == 2 ? 1e37f
                                       : 1);
            if (kind == 3)
                x[32 * b + (size_t)kc_int(env, 0, 31)] = kc_int(env, 0, 1) ? NAN : -INFINITY;
        }
        kernel(q, half_sums, x, nb);
        for (size_t b = 0; b < nb && !env->failures; b++)
            check_block(env, q + b, half_sums + 2 * b, x + 32 * b);
        if (!kc_intact(q) || !kc_intact(half_sums))
            kc_fail(env, "wrote outside its blocks");
        kc_release();
    }
}

static void check_quantize_act_q8(struct kc_env *env, kc_fn fn)
{
    check_quant(env, (quant_kernel *)fn);
}

const struct kc_checker kc_checkers_quantize_act[] = {
    { "quantize_act_q8", check_quantize_act_q8 },
    { NULL, NULL },
};
