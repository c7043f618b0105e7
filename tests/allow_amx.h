/* SPDX-License-Identifier: Apache-2.0 */
/* allow_amx.h - whether this process may use AMX. */
#ifndef QUIRE_TESTS_ALLOW_AMX_H
#define QUIRE_TESTS_ALLOW_AMX_H
#include <stdbool.h>

extern bool amx_usable_unasked; /* before the program asked for it */
bool amx_usable(void);

#endif
