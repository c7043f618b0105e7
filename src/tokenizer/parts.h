/* SPDX-License-Identifier: Apache-2.0 */
/* tok_parts.h - the steps of building a tokenizer, in the order in which they are taken. */
#ifndef QR_TOKENIZER_PARTS_H
#define QR_TOKENIZER_PARTS_H
#include "tokenizer/impl.h"

/* tok_tables.c */
quire_status qr_tok_add_tokens(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                               struct quire_error *err);
/* tok_classify.c */
quire_status qr_tok_set_special_ids(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                    struct quire_error *err);
void qr_tok_retype(struct quire_tokenizer *t);
/* tok_tables.c */
quire_status qr_tok_index_texts(struct quire_tokenizer *t, struct quire_error *err);
quire_status qr_tok_find_bytes(struct quire_tokenizer *t, struct quire_error *err);
quire_status qr_tok_add_merges(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                               struct quire_error *err);
quire_status qr_tok_order_scores(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                 struct quire_error *err);
/* tok_classify.c */
void qr_tok_find_ends(struct quire_tokenizer *t);
quire_status qr_tok_collect_specials(struct quire_tokenizer *t, struct quire_error *err);

#endif
