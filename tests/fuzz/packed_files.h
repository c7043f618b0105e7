/* SPDX-License-Identifier: Apache-2.0 */
/* packed_files.h - several files in one input: [name: 1 byte] [size: 3 bytes] [bytes], repeated.
 * The target's table gives the names, so that an input cannot name other paths. */
#ifndef QUIRE_FUZZ_PACKED_FILES_H
#define QUIRE_FUZZ_PACKED_FILES_H
#include "fuzz.h"

struct packed_file {
    uint32_t name; /* index in the table */
    const uint8_t *data;
    size_t size;
};

/* Reads at most max files; the size of the last one is cut at the end of the input. */
size_t packed_read(struct packed_file *files, size_t max, uint32_t n_names, const uint8_t *data,
                   size_t size);
void packed_put(struct fuzz_buffer *b, uint32_t name, const void *data, size_t size);

#endif
