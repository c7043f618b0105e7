/* SPDX-License-Identifier: Apache-2.0 */
/* group_panel.h - packs one row's group into a panel and unpacks it. */
#ifndef QR_LINEAR_GROUP_PANEL_H
#define QR_LINEAR_GROUP_PANEL_H
#include "linear/types.h"

/* Stores a group of n_blocks blocks as row r (0..15) of the panel's group at `panel`. */
void qr_group_pack(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks, size_t r,
                   uint8_t *panel);
/* Loads it back. */
void qr_group_unpack(struct qr_panel_format f, const uint8_t *panel, size_t n_blocks, size_t r,
                     struct qr_group *g);

#endif
