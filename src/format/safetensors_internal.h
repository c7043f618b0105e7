/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_internal.h - what the parts of the safetensors reader share. */
#ifndef QR_FORMAT_SAFETENSORS_INTERNAL_H
#define QR_FORMAT_SAFETENSORS_INTERNAL_H
#include "base/alloc.h"
#include "format/file.h"
#include "format/name_index.h"
#include "format/safetensors.h"

#define SAFETENSORS_MAX_HEADER 100000000u

struct st_file {
    struct qr_file file;
    char *header; /* the JSON text; tensor names lie in it */
    size_t header_bytes;
    char *name; /* plain file name, for messages and the index; NULL for a single file */
};

struct qr_safetensors {
    const struct quire_allocator *allocator;
    struct st_file *files;
    size_t n_files, file_cap;
    struct qr_safetensor *tensors;
    size_t n_tensors, tensor_cap;
    struct qr_name_index index;
};

/* Walks the header text. With tensors == NULL it only checks and counts; with room for that many it fills
 * them and ends every name with a NUL in place. Offsets are still relative to the end of the header. */
quire_status qr_safetensors_parse(char *header, size_t bytes, struct qr_safetensor *tensors,
                                  size_t *count, struct quire_error *err);

#endif
