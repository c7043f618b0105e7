/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.c - selects the templates over emulated vectors. */
#include "emulated.h"
#include <string.h>

const struct qr_kernels *kc_emulated(struct kc_env *env)
{
#ifdef KC_WITHOUT_EMULATED
    (void)env;
    return NULL;
#else
    static struct qr_kernels k;
    if (strcmp(env->level, "generic") != 0 || env->failures)
        return NULL;
    if (!k.linear_f32_f32) {
        qr_init_linear_emulated(&k);
        qr_init_attn_emulated(&k);
    }
    env->level = "emulated";
    return &k;
#endif
}
