/* SPDX-License-Identifier: Apache-2.0 */
/* provider.h - choice of the matmul provider for f32 and bf16 weights: quire's kernels or
 * oneDNN. */
#ifndef QR_MODEL_LOAD_PROVIDER_H
#define QR_MODEL_LOAD_PROVIDER_H
#include "model/load/model.h"

enum qr_pass_kind {
    QR_PASS_CACHED, /* over a KV cache: must be batch-invariant across prefill and decode */
    QR_PASS_ENCODE, /* whole inputs at once, nothing cached: large GEMMs, no invariance required */
};

/* The choice of QUIRE_LINEAR_AUTO; true: oneDNN. supported: the model has weights that oneDNN can
 * hold. is_faster(user) is called only if the result depends on it, since it measures. */
bool qr_provider_auto(enum qr_pass_kind pass, bool supported, bool (*is_faster)(void *user),
                      void *user);

/* True if oneDNN can hold a matrix of this role and type. Others use quire's kernels. */
bool qr_provider_supports(enum qr_weight_role role, uint32_t type);

/* Sets m->onednn or leaves it NULL. The weights must be open and not yet loaded.
 * QUIRE_E_UNSUPPORTED: oneDNN was requested, but the build, the weights or the compute mode do not
 * support it. */
quire_status qr_provider_choose(struct quire_model *m, enum quire_linear_provider wanted,
                                struct quire_error *err);

#endif
