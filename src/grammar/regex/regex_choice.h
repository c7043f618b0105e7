/* SPDX-License-Identifier: Apache-2.0 */
/* regex_choice.h - choice and intersection: operands are flattened, sorted and merged; a choice of
 * strings becomes a trie. */
#ifndef QR_GRAMMAR_REGEX_REGEX_CHOICE_H
#define QR_GRAMMAR_REGEX_REGEX_CHOICE_H
#include "grammar/regex/types.h"

qr_regex qr_regex_or(struct qr_regex_set *set, const qr_regex *list, size_t n);
qr_regex qr_regex_and(struct qr_regex_set *set, const qr_regex *list, size_t n);

#endif
