/* SPDX-License-Identifier: Apache-2.0 */
/* productive.h - which states of a network derive text, and which rules the empty text. */
#ifndef QR_GRAMMAR_CORE_PRODUCTIVE_H
#define QR_GRAMMAR_CORE_PRODUCTIVE_H
#include "grammar/core/network.h"

/* Sets the flags of states, rules, members and loops. lexemes: expressions by number; deadline:
 * of qr_clock_thread(). QUIRE_E_UNSUPPORTED the start derives no text; QUIRE_E_LIMIT;
 * QUIRE_E_NOMEM. */
quire_status qr_network_prune(struct qr_network *net, struct qr_regex_set *set,
                              const qr_regex *lexemes, double deadline,
                              struct quire_error *err) QUIRE_MUST_CHECK;

#endif
