/* SPDX-License-Identifier: Apache-2.0 */
/* hf_shared_block.h - transformer blocks that several layers share, in config.json (Zamba2). */
#ifndef QR_MODEL_CONFIG_HF_SHARED_BLOCK_H
#define QR_MODEL_CONFIG_HF_SHARED_BLOCK_H
#include "model/config/hf_keys.h"

/* Reads the blocks and what follows from their input, which is twice as wide as the residual
 * stream: head sizes and the scale of the scores. Requires the mixers and comes before RoPE. */
quire_status qr_hf_read_shared_blocks(const struct qr_hf_source *h);

#endif
