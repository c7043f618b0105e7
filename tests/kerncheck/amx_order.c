/* SPDX-License-Identifier: Apache-2.0 */
/* amx_order.c - reference of TDPBF16PS, from the instruction set manual of Intel. */
#include "amx_order.h"
#include <float.h>
#include <math.h>
#include <string.h>

bool kc_is_amx(const struct kc_env *env) { return strcmp(env->level, "avx512_amx") == 0; }

/* Zero for subnormals, as operand and as result. */
static float flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

float kc_amx_dot(float acc, const float *a, size_t a_step, const float *b, size_t b_step, int n,
                 const uint64_t *seen)
{
    for (int first = 0; first < n; first += 32) {
        float sum[2] = { 0, 0 };
        for (int i = first; i < n && i < first + 32; i++)
            if (!seen || *seen >> i & 1)
                sum[i & 1] = flushed(fmaf(flushed(a[(size_t)i * a_step]),
                                          flushed(b[(size_t)i * b_step]), sum[i & 1]));
        acc = flushed(flushed(acc) + flushed(sum[0] + sum[1]));
    }
    return acc;
}
