/* SPDX-License-Identifier: Apache-2.0 */
/* allow_amx.c - requests AMX before main in every test program, to test that level too. */
#include "allow_amx.h"
#include <quire/cpu.h>
#include <string.h>

bool amx_usable_before_request;

bool amx_usable(void)
{
    for (int i = 0; quire_cpu_level_name(i); i++)
        if (strcmp(quire_cpu_level_name(i), "avx512_amx") == 0)
            return quire_cpu_level_usable(i) != 0;
    return false;
}

__attribute__((constructor)) static void request_amx(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    amx_usable_before_request = amx_usable();
    (void)quire_cpu_allow_amx(&err);
}
