/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - writes a GGUF file again with other types. */
#ifndef QUIRE_QUANTIZE_CONVERT_H
#define QUIRE_QUANTIZE_CONVERT_H
#include "importance.h"
#include "plan.h"
#include <quire/threads.h>

struct conversion {
    const struct qr_gguf *source;
    struct plan plan;
    const struct importance *importance; /* NULL: all columns of a matrix count alike */
    struct quire_threads *threads;
    bool quiet; /* print no line per tensor */
    /* results */
    uint64_t n_values, bytes_before, bytes_after; /* of all tensors */
    uint32_t n_odd; /* matrices whose rows are no whole number of the scheme's blocks */
};

/* Writes the source to a new file: its metadata but for the file type and the shards, and all
 * tensors, those of other types rounded. Reads and writes a few rows at a time. Prints one line per
 * tensor with the relative error: the root of the sum of squared differences over that of the
 * values. On failure there is no new file. QUIRE_E_FORMAT: a weight is not finite, or the
 * importance is not that of the tensor; _UNSUPPORTED: a type that cannot be read; _IO; _NOMEM. */
quire_status convert(struct conversion *c, const char *path, struct quire_error *err);

#endif
