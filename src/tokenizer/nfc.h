/* SPDX-License-Identifier: Apache-2.0 */
/* nfc.h - NFC normalizer. */
#ifndef QR_TOKENIZER_NFC_H
#define QR_TOKENIZER_NFC_H
#include "tokenizer/types.h"

/* Normalizes well-formed text to NFC. Leaves *text and *n alone if no character needs work, else
 * points them to e->normalized. */
quire_status qr_normalize_nfc(struct qr_encoder *e, const uint8_t **text, size_t *n);

#endif
