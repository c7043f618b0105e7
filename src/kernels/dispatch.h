/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - choosing a kernel table. */
#ifndef QR_KERNELS_DISPATCH_H
#define QR_KERNELS_DISPATCH_H
#include "kernels/kernels.h"
#include <quire/status.h>

/* The immutable table of an exact level, or the best one this CPU can run.
 * isa NULL or "": the best level, capped by the environment variable QUIRE_ISA if set (QUIRE_E_INVALID_ARG listing
 * the names when it names no level of this build). isa given: that very level (QUIRE_E_INVALID_ARG unknown name,
 * QUIRE_E_UNSUPPORTED when the CPU lacks it, saying what is missing). Thread-safe; never freed. */
quire_status qr_kernels_get(const char *isa, const struct qr_kernels **out,
                            struct quire_error *err);

/* Levels of this build in rising order: the name, or NULL past the end. usable tells if this CPU runs it. */
const char *qr_level_name(int i);
const struct qr_kernels *qr_level_table(int i); /* NULL when the CPU lacks the level */

/* The value of dnnl_cpu_isa_t with the same instructions as the level of that name, without the
 * prefix dnnl_cpu_isa_; NULL when oneDNN has none, or no level has that name. */
const char *qr_level_onednn_isa(const char *level);

#endif
