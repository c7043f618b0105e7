/* SPDX-License-Identifier: Apache-2.0 */
/* allow_amx.c - every test program asks for AMX before main: on CPUs that have it, the level is tested too. */
#include <quire/cpu.h>

__attribute__((constructor)) static void ask(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&err);
}
