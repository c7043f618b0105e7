/* SPDX-License-Identifier: Apache-2.0 */
/** Instruction-set levels: what this build has, what this CPU runs, what was chosen and why. */
#ifndef QUIRE_CPU_H
#define QUIRE_CPU_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Text for people: CPU, features, chosen level, why each higher level was refused, and which level each kernel
 *  comes from; one item a line.
 *  isa       exact level name, or NULL for the best one capped by the environment variable QUIRE_ISA
 *  out       [out_size] bytes, caller's; NUL-terminated; may be NULL when out_size is 0
 *  needed    bytes needed with the NUL, may be NULL
 *  QUIRE_E_INVALID_ARG unknown level (the message lists the names); QUIRE_E_UNSUPPORTED the CPU lacks it;
 *  QUIRE_E_LIMIT out is too small. Thread-safe. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_cpu_describe(const char *isa, char *out,
                                                           size_t out_size, size_t *needed,
                                                           struct quire_error *err);

/** Name of level i of this build in rising order, NULL past the end. Static storage. */
QUIRE_API const char *quire_cpu_level_name(int i);

/** 1 if this CPU and OS can run level i, else 0. */
QUIRE_API int quire_cpu_level_usable(int i);

#ifdef __cplusplus
}
#endif
#endif
