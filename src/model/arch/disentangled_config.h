/* SPDX-License-Identifier: Apache-2.0 */
/* disentangled_config.h - options of disentangled attention. */
#ifndef QR_MODEL_ARCH_DISENTANGLED_CONFIG_H
#define QR_MODEL_ARCH_DISENTANGLED_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

/* Disentangled attention (DeBERTa, arXiv 2006.03654). A table has an embedding for each of 2 span
 * distances of query and key; the projections of keys and queries make a key k' and a query q' of
 * it. The score of a query at i and a key at j has the terms q k'[row] and k q'[row] besides q k,
 * each divided by sqrt(head_dim times the number of terms), with row = span + distance, i - j or
 * its bucket, at most 2 span - 1. */
struct qr_disentangled_config {
    uint32_t span; /* 0: none */
    /* With buckets, which are span then, distances of half of it and more share buckets, whose
     * width grows up to max_distance; without, each distance has its own row. */
    bool buckets;
    uint32_t max_distance;
    bool query_position, key_position; /* the terms q k' ("c2p") and k q' ("p2c") */
    bool norm;                         /* the table passes a norm */
};

#endif
