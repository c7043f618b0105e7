/* SPDX-License-Identifier: Apache-2.0 */
/* model_kind.h - the models that the engine runs. */
#ifndef QR_ENGINE_MODEL_KIND_H
#define QR_ENGINE_MODEL_KIND_H
#include <quire/model.h>

/* QUIRE_E_UNSUPPORTED, with the architecture, for encoder-decoders. */
quire_status qr_model_kind_check(enum quire_model_kind kind, const char *arch,
                                 struct quire_error *err);

#endif
