/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - --sandbox: what the process may do from now on. */
#ifndef QUIRE_SERVE_SANDBOX_H
#define QUIRE_SERVE_SANDBOX_H
#include "error.h"
#include "options.h"
#include <stdbool.h>

struct registry;

/* Enters the sandbox: Landlock limits the files to the models of the registry, other files that the
 * options name for models, --cache-dir, and the parts of /proc and /sys with the limits of memory
 * and CPUs; a filter of system calls denies programs, processes, new sockets except accepted ones,
 * and everything else that the server does not need. There is no way back.
 *
 * Call it when sockets, keys and certificates are open and before the first thread is created,
 * because Landlock holds for the calling thread and what it creates. Models may be opened later.
 *
 * False: *error says what is missing; without Landlock or seccomp there is no sandbox. */
bool sandbox_enter(const struct options *o, struct registry *models, struct api_error *error);

#endif
