/* SPDX-License-Identifier: Apache-2.0 */
/* mla.h - validation of latent attention (MLA) dimensions. */
#ifndef QR_ATTENTION_MLA_H
#define QR_ATTENTION_MLA_H
#include <quire/mla.h>

/* Validates the dimensions. */
quire_status qr_mla_read_dims(struct quire_mla_dims *d, const struct quire_mla_dims *dims,
                              struct quire_error *err);

#endif
