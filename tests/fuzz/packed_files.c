/* SPDX-License-Identifier: Apache-2.0 */
/* packed_files.c - several files in one input. */
#include "packed_files.h"

size_t packed_read(struct packed_file *files, size_t max, uint32_t n_names, const uint8_t *data,
                   size_t size)
{
    struct fuzz_input in = { data, size };
    size_t n = 0;
    for (; n < max && in.left; n++) {
        files[n].name = (uint32_t)fuzz_take(&in, 1) % n_names;
        files[n].size = (size_t)fuzz_take(&in, 3);
        files[n].data = fuzz_take_bytes(&in, &files[n].size);
    }
    return n;
}

void packed_put(struct fuzz_buffer *b, uint32_t name, const void *data, size_t size)
{
    fuzz_put_number(b, name, 1);
    fuzz_put_number(b, size, 3);
    fuzz_put(b, data, size);
}
