/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_unknown.h - finds metadata keys that the configuration does not account for. */
#ifndef QR_MODEL_CONFIG_GGUF_UNKNOWN_H
#define QR_MODEL_CONFIG_GGUF_UNKNOWN_H
#include "model/config/gguf_keys.h"
#include "model/config/unknown.h"

/* Reports every key "<architecture>.*" that was neither looked up nor is known to change no
 * result. false, 0 and the empty string switch an option off: they count as known. Keys with other
 * prefixes (general, tokenizer, split, quantize, ...) do not describe the model. Call it last. */
quire_status qr_gguf_check_unknown(const struct qr_gguf_source *s,
                                   const struct qr_unknown_policy *policy);

#endif
