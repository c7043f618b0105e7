/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.c - parts of custom mutators that need the fuzzing engine. */
#include "mutate.h"
#include <stdlib.h>
#include <string.h>

void fuzz_put_mutated(struct fuzz_buffer *b, const void *bytes, size_t n, size_t max)
{
    max = max < n ? n : max;
    uint8_t *copy = malloc(max + 1);
    fuzz_check(copy, "no memory for %zu bytes", max);
    if (n)
        memcpy(copy, bytes, n);
    fuzz_put(b, copy, max ? LLVMFuzzerMutate(copy, n, max) : 0);
    free(copy);
}

size_t fuzz_mutated(struct fuzz_buffer *b, uint8_t *data, size_t size, size_t max_size)
{
    if (b->size && b->size <= max_size) {
        memcpy(data, b->data, b->size);
        size = b->size;
    } else {
        size = LLVMFuzzerMutate(data, size, max_size);
    }
    fuzz_buffer_free(b);
    return size;
}
