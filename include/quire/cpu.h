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

/** Whether this process can run level i on this CPU and OS. */
QUIRE_API bool quire_cpu_level_usable(int i);

/** Lets this process use the matrix registers of AMX, and with them the level avx512_amx: bf16 weights and attention
 *  several times as fast on Intel's servers since 2023. Linux gives a process these registers only when it asks, and
 *  from then on wants alternate signal stacks of 11 KiB and more (sigaltstack fails with less). That changes the
 *  process, so the library never asks by itself: a program calls this before it creates what shall use the level.
 *  Calling again is harmless; it cannot be undone.
 *  QUIRE_E_UNSUPPORTED no AMX, Linux before 5.16, or a signal stack in use is too small. Thread-safe. */
QUIRE_API quire_status quire_cpu_allow_amx(struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
