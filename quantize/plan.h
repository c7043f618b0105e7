/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - which type every tensor of a model gets. */
#ifndef QUIRE_QUANTIZE_PLAN_H
#define QUIRE_QUANTIZE_PLAN_H
#include "format/gguf.h"

/* A value of --type. */
struct scheme {
    const char *name;
    uint32_t type;      /* enum qr_weight_type of most matrices */
    uint32_t file_type; /* value of general.file_type in the file */
    bool mixture;       /* sensitive matrices get Q6_K */
};

/* The scheme of a name in any case; NULL if there is none. */
const struct scheme *scheme_find(const char *name);
/* Scheme number i; NULL past the last. */
const struct scheme *scheme_at(size_t i);

struct plan {
    const struct scheme *scheme;
    uint32_t n_layers; /* of the model; 0 = unknown */
    bool pure;         /* every matrix gets the type of the scheme */
    bool tied;         /* the token embedding is the output matrix, too */
};

/* The type of a tensor in the new file. What is not a matrix, and small matrices to which a result
 * is sensitive (routers, convolutions, position tables), keep theirs. Rows that are no whole number
 * of blocks get a type with smaller blocks. */
uint32_t plan_type(const struct plan *p, const struct qr_gguf_tensor *t);

#endif
