/* SPDX-License-Identifier: Apache-2.0 */
/* traceparent.c - the header of W3C Trace Context:
 * VERSION-TRACE_ID-PARENT_ID-FLAGS in lower-case hexadecimal digits. */
#include "traceparent.h"
#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n bytes; *zero: all of them are 0. */
static bool read_hex(const char *text, uint8_t *out, int n, bool *zero)
{
    *zero = true;
    for (int i = 0; i < n; i++) {
        const int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
        *zero = *zero && out[i] == 0;
    }
    return true;
}

bool traceparent_parse(struct traceparent *p, const char *header)
{
    enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, SIZE = 55 };
    uint8_t version, flags;
    bool zero, no_trace, no_parent;
    if (header == NULL || strnlen(header, SIZE) < SIZE || header[TRACE_AT - 1] != '-' ||
        header[PARENT_AT - 1] != '-' || header[FLAGS_AT - 1] != '-')
        return false;
    if (!read_hex(header, &version, 1, &zero) ||
        !read_hex(header + TRACE_AT, p->trace_id, 16, &no_trace) ||
        !read_hex(header + PARENT_AT, p->parent_id, 8, &no_parent) ||
        !read_hex(header + FLAGS_AT, &flags, 1, &zero))
        return false;
    p->sampled = flags & 1;
    /* Later versions may append fields. */
    const char end = header[SIZE];
    return version != 0xff && !no_trace && !no_parent &&
           (end == '\0' || (version > 0 && end == '-'));
}
