/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h - from the text of a grammar to its automaton: quire_grammar_compile() of
 * quire/grammar.h. */
#ifndef QR_GRAMMAR_COMPILE_H
#define QR_GRAMMAR_COMPILE_H
#include "grammar/matcher.h"

#endif
