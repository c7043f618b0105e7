/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code.h - maps failures to the exit codes of sysexits.h. */
#ifndef QUIRE_CHAT_EXIT_CODE_H
#define QUIRE_CHAT_EXIT_CODE_H
#include <quire/status.h>
#include <stdbool.h>

enum { EXIT_INTERRUPTED = 130 };

/* opening: the failure occurred while the model was opened. err supplies the errno of
 * QUIRE_E_IO. */
int exit_code_of_status(quire_status status, const struct quire_error *err, bool opening);

/* Of quire_cpu_describe(): isa is the --isa argument, NULL = the level came from QUIRE_ISA. */
int exit_code_of_isa(quire_status status, const char *isa);

#endif
