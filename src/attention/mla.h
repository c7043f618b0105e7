/* SPDX-License-Identifier: Apache-2.0 */
/* mla.h - what the parts of latent attention share. */
#ifndef QR_ATTENTION_MLA_H
#define QR_ATTENTION_MLA_H
#include <quire/mla.h>

/* Sizes are in range. */
quire_status qr_mla_check_dims(const struct quire_mla_dims *dims, struct quire_error *err);

#endif
