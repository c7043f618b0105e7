/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - a growing byte string. All zeros is the empty one. */
#ifndef QUIRE_SERVE_TEXT_H
#define QUIRE_SERVE_TEXT_H
#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* NUL-terminated; NULL while empty */
    size_t size, capacity;
    bool failed; /* out of memory: the text is incomplete */
};

void text_add(struct text *t, const void *data, size_t size);
void text_add_string(struct text *t, const char *s);
__attribute__((format(printf, 2, 3))) void text_format(struct text *t, const char *format, ...);
void text_free(struct text *t); /* makes it empty */

#endif
