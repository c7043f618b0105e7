/* SPDX-License-Identifier: Apache-2.0 */
/* provider.h - who multiplies a model's f32 and bf16 matrices. */
#ifndef QR_MODEL_LOAD_PROVIDER_H
#define QR_MODEL_LOAD_PROVIDER_H
#include "model/model.h"

enum qr_pass_kind {
    QR_PASS_CACHED, /* over a KV cache: a token's bits must be the same in any batch, prefill or decode */
    QR_PASS_ENCODE, /* whole inputs at once, nothing kept: large products and nothing to be equal to */
};

/* What QUIRE_LINEAR_AUTO means: is oneDNN to hold the weights? `wins(user)` is asked only when all else speaks
 * for it. */
bool qr_provider_auto(enum qr_pass_kind pass, bool holdable, bool (*wins)(void *user), void *user);

/* Is a matrix of this role and type one that a provider takes? Others stay with quire's kernels. */
bool qr_provider_takes(enum qr_weight_role role, uint32_t type);

/* Sets m->onednn or leaves it NULL. The weights must be open and not yet loaded. QUIRE_E_UNSUPPORTED:
 * oneDNN was asked for by name, and the build, the weights or the compute mode do not allow it. */
quire_status qr_provider_choose(struct quire_model *m, enum quire_linear_provider wanted,
                                struct quire_error *err);

#endif
