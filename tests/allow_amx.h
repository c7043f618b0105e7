/* SPDX-License-Identifier: Apache-2.0 */
/* allow_amx.h - whether this process may use AMX. */
#ifndef QR_TESTS_ALLOW_AMX_H
#define QR_TESTS_ALLOW_AMX_H
#include <stdbool.h>

extern bool amx_usable_before_request; /* before the request */
bool amx_usable(void);

#endif
