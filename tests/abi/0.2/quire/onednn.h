/* SPDX-License-Identifier: Apache-2.0 */
/** Process-wide settings of oneDNN, the optional provider of dense matrix products
 *  (quire/model.h). */
#ifndef QUIRE_ONEDNN_H
#define QUIRE_ONEDNN_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Caps the instruction sets that oneDNN uses; isa as in quire_cpu_describe(). oneDNN has one such
 *  cap per process and by default uses everything the CPU supports, regardless of
 *  quire_model_params.isa. A program calls this function before it opens its first model.
 *  QUIRE_E_UNSUPPORTED (this build has no oneDNN, or oneDNN has no cap for the level),
 *  QUIRE_E_INVALID_ARG (unknown level), QUIRE_E_BUSY (oneDNN is in use already). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_onednn_set_isa(const char *isa,
                                                             struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
