/* SPDX-License-Identifier: Apache-2.0 */
/* model_kind.c - the models that the engine runs. */
#include "engine/model_kind.h"
#include "base/error.h"

quire_status qr_model_kind_check(enum quire_model_kind kind, const char *arch,
                                 struct quire_error *err)
{
    if (kind == QUIRE_MODEL_ENCODER_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "architecture '%s' is an encoder-decoder: the engine runs decoders and "
                       "encoders only",
                       arch);
    return QUIRE_OK;
}
