/* SPDX-License-Identifier: Apache-2.0 */
/* test_plamo.h - the first tokens of PLaMo's vocabularies: special ones and bytes. */
#ifndef QR_TEST_PLAMO_H
#define QR_TEST_PLAMO_H
#include "test_gguf_vocab.h"

enum { UNK, BOS, EOS, PAD, OP, BYTE, PIECE = BYTE + 256 };
static const char *const specials[] = { "<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>",
                                        "<|plamo:pad|>", "<|plamo:op|>" };

#endif
