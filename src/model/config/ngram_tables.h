/* SPDX-License-Identifier: Apache-2.0 */
/* ngram_tables.h - sizes and hash multipliers of the tables of n-gram embeddings. */
#ifndef QR_MODEL_CONFIG_NGRAM_TABLES_H
#define QR_MODEL_CONFIG_NGRAM_TABLES_H
#include "model/arch/model_config.h"
#include <quire/status.h>

/* What the tables follow from, besides cfg->ngram. */
struct qr_ngram_tables {
    uint32_t base;    /* the heads of all layers have the primes from here on, in order */
    uint32_t divisor; /* of the rows of a table */
    uint32_t seed;    /* of the multipliers */
};

/* Sets cfg->ngram.sizes and multipliers, and the rows of each layer's table. Requires the other
 * fields of cfg->ngram and the layers. QUIRE_E_UNSUPPORTED if the rows of a table cannot be divided
 * into its parts. */
quire_status qr_ngram_tables_fill(struct qr_model_config *cfg, const struct qr_ngram_tables *t,
                                  struct quire_error *err);

#endif
