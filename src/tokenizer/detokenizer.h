/* SPDX-License-Identifier: Apache-2.0 */
/* detokenizer.h - the state of a detokenizer. */
#ifndef QR_TOKENIZER_DETOKENIZER_H
#define QR_TOKENIZER_DETOKENIZER_H
#include <quire/tokenizer.h>

/* Makes `to` continue the text of `from`. Both have the same tokenizer and flags. */
void qr_detokenizer_copy(struct quire_detokenizer *to, const struct quire_detokenizer *from);

#endif
