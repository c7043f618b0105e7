/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *t, size_t more)
{
    if (t->failed || more >= SIZE_MAX / 2 - t->size)
        return !(t->failed = true);
    const size_t wanted = t->size + more + 1;
    if (wanted <= t->capacity)
        return true;
    size_t capacity = t->capacity ? t->capacity : 64;
    while (capacity < wanted)
        capacity *= 2;
    char *data = realloc(t->data, capacity);
    if (data == NULL)
        return !(t->failed = true);
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add(struct text *t, const void *data, size_t size)
{
    if (size == 0 || !reserve(t, size))
        return;
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void text_add_string(struct text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_format(struct text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        t->failed = true;
    else if (n > 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        t->size += (size_t)n;
    }
    va_end(again);
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){ 0 };
}
