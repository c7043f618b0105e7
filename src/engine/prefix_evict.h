/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_evict.h - pins, order of use and eviction of the prefix index. */
#ifndef QR_ENGINE_PREFIX_EVICT_H
#define QR_ENGINE_PREFIX_EVICT_H
#include "engine/prefix_tree.h"

/* Pins are counted. A pinned node and its ancestors are held: they are not removed, and keep their
 * blocks of full-attention groups. Blocks of windowed groups are kept by the node's own pins only:
 * eviction leaves blocks with other references alone, and a running sequence has references of its
 * own to the blocks in its window. The last unpin marks as used. QR_PREFIX_NONE is a no-op. */
void qr_prefix_index_pin(struct qr_prefix_index *x, qr_prefix_node node);
void qr_prefix_index_unpin(struct qr_prefix_index *x, qr_prefix_node node);

/* Marks the node and its ancestors as the most recently used. QR_PREFIX_NONE is a no-op. */
void qr_prefix_index_touch(struct qr_prefix_index *x, qr_prefix_node node);

/* Number of blocks of a group that qr_prefix_index_evict can free: those whose only reference is
 * that of a node that is not held (full attention) or not pinned itself (windowed groups). Other
 * references come and go without the index, so each call counts: about 1 ns per node. */
uint32_t qr_prefix_index_evictable(const struct qr_prefix_index *x, uint32_t group);

/* Frees up to n blocks of the group and returns how many; fewer than n only if no more are
 * evictable. Full attention: removes the least recently used leaves, with their blocks of all
 * groups. Windowed groups: nodes stay and lose their block of this group, first those out of reach
 * of every end (qr_prefix_in_reach), then the others, each in order of last use; on a path without
 * branches from its beginning on. */
uint32_t qr_prefix_index_evict(struct qr_prefix_index *x, uint32_t group, uint32_t n);

/* Removes a leaf that is not held and drops its references. */
void qr_prefix_remove(struct qr_prefix_index *x, qr_prefix_node node);

#endif
