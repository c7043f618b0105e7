/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv_vocab.h - reads rwkv_vocab_v20230424.txt, the vocabulary of RWKV "world" models. */
#ifndef QR_TOKENIZER_RWKV_VOCAB_H
#define QR_TOKENIZER_RWKV_VOCAB_H
#include "tokenizer/types.h"

#define QR_RWKV_VOCAB_FILE "rwkv_vocab_v20230424.txt"

/* Reads a line "id literal bytes" per token, ids from 1 in order, into an initialized description,
 * which keeps copies. A literal is a str, of which a token has the UTF-8, or bytes, as Python
 * writes them; `bytes` is their number. Token 0 ends texts: a control token without a line. */
quire_status qr_rwkv_vocab_read(struct qr_vocab_spec *spec, const char *text, size_t size,
                                struct quire_error *err);

#endif
