/* SPDX-License-Identifier: Apache-2.0 */
/* importance.h - importance matrices: how much an error in each column of a matrix matters. */
#ifndef QUIRE_QUANTIZE_IMPORTANCE_H
#define QUIRE_QUANTIZE_IMPORTANCE_H
#include "format/gguf.h"

struct importance;

/* Opens a file of `quire-eval imatrix` or of the tools of llama.cpp (GGUF, general.type imatrix).
 * QUIRE_E_FORMAT: another kind of file, as the older one with the suffix .dat. */
quire_status importance_open(const char *path, struct importance **out, struct quire_error *err);
void importance_close(struct importance *m); /* NULL is a no-op */

/* Mean squares of what enters tensor t: [matrices][t->dims[0]], one matrix per expert, or one for
 * all rows. *values is NULL where the file lacks the tensor; otherwise the caller frees it. A
 * matrix that no token reached has ones. QUIRE_E_FORMAT: other sizes, or values that are negative
 * or not finite. */
quire_status importance_read(const struct importance *m, const struct qr_gguf_tensor *t,
                             float **values, uint64_t *n_matrices, struct quire_error *err);

#endif
