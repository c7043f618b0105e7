/* SPDX-License-Identifier: Apache-2.0 */
/* forced.h - text and tokens that must follow: the functions quire_grammar_matcher_forced_* of
 * quire/grammar.h. */
#ifndef QR_GRAMMAR_FORCED_H
#define QR_GRAMMAR_FORCED_H
#include "grammar/matcher.h"

#endif
