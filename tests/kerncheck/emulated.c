/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.c - the table of the templates over emulated vectors. */
#include "emulated.h"

const struct qr_kernels *kc_emulated(const struct qr_kernels *generic)
{
#ifdef KC_WITHOUT_EMULATED
    return generic;
#else
    static struct qr_kernels k;
    k = *generic;
    qr_init_linear_emulated(&k);
    qr_init_attn_emulated(&k);
    return &k;
#endif
}
