/* SPDX-License-Identifier: Apache-2.0 */
/* stop_match.h - which stop sequence ended an answer. */
#ifndef QUIRE_SERVE_STOP_MATCH_H
#define QUIRE_SERVE_STOP_MATCH_H

#include <stdint.h>

/* The stop sequence that the last token completed, of several the one that begins first; NULL if
 * none. `text` is the answer with that token and `before` the answer without it. `before` need not
 * be a prefix of `text`: the token may complete a character whose first bytes `before` shows as
 * U+FFFD, and `before` may then be the longer one. */
const char *stop_completed(const char *before, const char *text, const char *const *stop,
                           uint32_t n_stop);

#endif
