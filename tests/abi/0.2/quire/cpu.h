/* SPDX-License-Identifier: Apache-2.0 */
/** ISA levels: the levels of this build, the levels this CPU supports, and the selected level. */
#ifndef QUIRE_CPU_H
#define QUIRE_CPU_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Describes CPU, features, selected ISA level, why each higher level was rejected, and the level
 *  of each kernel, as human-readable text with one item per line.
 *  isa     exact level name, or NULL for the best one, capped by the environment variable QUIRE_ISA
 *  out     [out_size] bytes of the caller; NUL-terminated; may be NULL when out_size is 0
 *  needed  required bytes including the NUL, may be NULL
 *  QUIRE_E_INVALID_ARG unknown level (the message lists the names); QUIRE_E_UNSUPPORTED the CPU
 *  lacks the level; QUIRE_E_LIMIT out is too small. Thread-safe. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_cpu_describe(const char *isa, char *out,
                                                           size_t out_size, size_t *needed,
                                                           struct quire_error *err);

/** Name of ISA level i of this build in ascending order, NULL past the end. Static storage. */
QUIRE_API const char *quire_cpu_level_name(int i);

/** Whether this process can run level i on this CPU and OS. */
QUIRE_API bool quire_cpu_level_usable(int i);

/** Requests permission for this process to use the AMX tile registers, which level avx512_amx
 *  needs: bf16 weights and attention run several times as fast on Intel server CPUs since 2023.
 *  Linux grants them on request only and then requires alternate signal stacks of at least 11 KiB
 *  (sigaltstack fails with less). This changes the process, so the library never does it
 *  implicitly: a program calls this function before it creates the objects that use the level.
 *  Idempotent; permanent for the process.
 *  QUIRE_E_UNSUPPORTED no AMX, Linux before 5.16, or a signal stack in use is too small.
 *  Thread-safe. */
QUIRE_API quire_status quire_cpu_allow_amx(struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
