/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - selection of a kernel table. */
#ifndef QR_KERNELS_DISPATCH_H
#define QR_KERNELS_DISPATCH_H
#include "kernels/kernels.h"
#include <quire/status.h>

/* Returns the kernel table of a level. The table is immutable and never freed. Thread-safe. isa
 * NULL or "": the best level this CPU runs, capped by the environment variable QUIRE_ISA if set;
 * QUIRE_E_INVALID_ARG, listing the names, when QUIRE_ISA names no level of this build. isa given:
 * exactly that level; QUIRE_E_INVALID_ARG for an unknown name, QUIRE_E_UNSUPPORTED, naming the
 * missing features, when this process cannot run it. */
quire_status qr_kernels_get(const char *isa, const struct qr_kernels **out,
                            struct quire_error *err);

/* qr_kernels_get() without isa for functions that cannot fail: the lowest level when QUIRE_ISA
 * names none. Only for kernels whose bits do not depend on the level. */
const struct qr_kernels *qr_kernels_any(void);

/* Name of level i of this build, lowest first; NULL past the last one. */
const char *qr_level_name(int i);

/* Kernel table of level i; NULL when this process cannot run the level, and past the last one. */
const struct qr_kernels *qr_level_table(int i);

/* The value of dnnl_cpu_isa_t with the same instructions as the level of that name, without the
 * prefix dnnl_cpu_isa_; NULL when oneDNN has none, or no level has that name. */
const char *qr_level_onednn_isa(const char *level);

#endif
