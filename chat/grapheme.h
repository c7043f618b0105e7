/* SPDX-License-Identifier: Apache-2.0 */
/* grapheme.h - grapheme clusters: the units of cursor movement, and their width on a terminal. */
#ifndef QUIRE_CHAT_GRAPHEME_H
#define QUIRE_CHAT_GRAPHEME_H
#include <stddef.h>

enum { TAB_CELLS = 4 }; /* fixed, so that the width of a text does not depend on its column */

/* Bytes of the cluster at s (n >= 1): Unicode's extended grapheme clusters. An ill-formed byte is
 * a cluster of its own. */
size_t grapheme_length(const char *s, size_t n);

/* Bytes of the last cluster of s (n >= 1). Control characters, newlines among them, separate
 * clusters, so s may begin after any newline. */
size_t grapheme_last_length(const char *s, size_t n);

/* Terminal cells of the cluster s: the sum over its code points, where emoji that are joined to
 * the first one take no cells. */
unsigned grapheme_cells(const char *s, size_t n);

/* Terminal cells of a text without newlines. */
unsigned text_cells(const char *s, size_t n);

/* Bytes at the beginning of a text without newlines that fit into the given cells. */
size_t text_fit(const char *s, size_t n, unsigned cells);

#endif
