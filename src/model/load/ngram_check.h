/* SPDX-License-Identifier: Apache-2.0 */
/* ngram_check.h - compares a file's copies of the tables of n-gram embeddings with the computed
 * ones. */
#ifndef QR_MODEL_LOAD_NGRAM_CHECK_H
#define QR_MODEL_LOAD_NGRAM_CHECK_H
#include "model/load/types.h"

/* Succeeds in files without copies. QUIRE_E_UNSUPPORTED, with the name of the tensor, if the file
 * has multipliers, sizes or offsets that do not follow from its configuration. */
quire_status qr_ngram_check(const struct qr_weights *w, struct quire_error *err);

#endif
