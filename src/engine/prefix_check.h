/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_check.h - invariants of the prefix index, for tests. */
#ifndef QR_ENGINE_PREFIX_CHECK_H
#define QR_ENGINE_PREFIX_CHECK_H
#include "engine/prefix_tree.h"

/* Checks links, lists, pins, reach and the hash tables, and that every block of a node is in use in
 * the pool. Returns what is wrong, or NULL. */
const char *qr_prefix_index_check(struct qr_prefix_index *x);

#endif
