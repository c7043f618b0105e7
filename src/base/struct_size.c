/* SPDX-License-Identifier: Apache-2.0 */
/* struct_size.c - copying sized structs between library versions. */
#include "base/struct_size.h"
#include "base/error.h"
#include <string.h>

/* Larger sizes are refused before the tail is read: they come from an uninitialized struct_size. */
enum { MAX_STRUCT_BYTES = 4096 };

static uint32_t size_of(const void *s)
{
    uint32_t size;
    memcpy(&size, s, sizeof size);
    return size;
}

static void set_size(void *s, size_t size)
{
    const uint32_t value = (uint32_t)size;
    memcpy(s, &value, sizeof value);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

quire_status qr_struct_read(void *dst, size_t size, size_t first, const void *src, const char *name,
                            struct quire_error *err)
{
    if (!src)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", name);
    const uint32_t given = size_of(src);
    if (given < first)
        return qr_fail(err, QUIRE_E_MISUSE,
                       "%s.struct_size is %u, less than the %zu of its first version", name, given,
                       first);
    if (given > MAX_STRUCT_BYTES)
        return qr_fail(err, QUIRE_E_MISUSE, "%s.struct_size is %u, this library supports %zu", name,
                       given, size);
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)src)[i])
            return qr_fail(err, QUIRE_E_MISUSE,
                           "%s.struct_size is %u, this library supports %zu, and byte %zu is not 0",
                           name, given, size, i);
    qr_struct_copy(dst, size, src);
    return QUIRE_OK;
}

void qr_struct_copy(void *dst, size_t size, const void *src)
{
    const size_t n = least(size_of(src), size);
    memcpy(dst, src, n);
    memset((unsigned char *)dst + n, 0, size - n);
    set_size(dst, size);
}

quire_status qr_struct_check_out(const void *dst, size_t first, const char *name,
                                 struct quire_error *err)
{
    const uint32_t given = size_of(dst);
    if (given < first || given > MAX_STRUCT_BYTES)
        return qr_fail(err, QUIRE_E_MISUSE, "%s.struct_size is %u, not %zu or more", name, given,
                       first);
    return QUIRE_OK;
}

void qr_struct_write(void *dst, const void *src, size_t size)
{
    const uint32_t given = size_of(dst);
    const size_t n = least(given, size);
    memcpy(dst, src, n);
    memset((unsigned char *)dst + n, 0, given - n);
    set_size(dst, given);
}

void qr_struct_init(void *dst, size_t dst_size, const void *defaults, size_t size)
{
    if (!dst || dst_size < sizeof(uint32_t))
        return;
    const size_t n = least(dst_size, size);
    if (n)
        memcpy(dst, defaults, n);
    memset((unsigned char *)dst + n, 0, dst_size - n);
    set_size(dst, dst_size);
}
