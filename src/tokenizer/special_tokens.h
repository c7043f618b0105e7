/* SPDX-License-Identifier: Apache-2.0 */
/* special_tokens.h - roles of special tokens and the end-of-generation set. */
#ifndef QR_TOKENIZER_SPECIAL_TOKENS_H
#define QR_TOKENIZER_SPECIAL_TOKENS_H
#include "tokenizer/types.h"

/* Copies the ids of special tokens from the description and checks their range. */
quire_status qr_special_tokens_set_ids(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                       struct quire_error *err);

/* Makes every token of a chat format a control token. Many files declare such tokens user-defined
 * or even normal, and then plain user text could produce them. */
void qr_special_tokens_retype(struct quire_tokenizer *t);

/* Finds EOT and EOM by text if the file names none, and marks all end-of-generation tokens. Needs
 * the index of texts. */
void qr_special_tokens_find_eog(struct quire_tokenizer *t);

#endif
