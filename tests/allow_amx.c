/* SPDX-License-Identifier: Apache-2.0 */
/* allow_amx.c - every test program asks for AMX before main: on CPUs that have it, the level is tested too. */
#include "allow_amx.h"
#include <quire/cpu.h>
#include <string.h>

bool amx_usable_unasked;

bool amx_usable(void)
{
    for (int i = 0; quire_cpu_level_name(i); i++)
        if (strcmp(quire_cpu_level_name(i), "avx512_amx") == 0)
            return quire_cpu_level_usable(i) != 0;
    return false;
}

__attribute__((constructor)) static void ask(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    amx_usable_unasked = amx_usable();
    (void)quire_cpu_allow_amx(&err);
}
