/* SPDX-License-Identifier: Apache-2.0 */
/* uri.c - references of URIs (RFC 3986, section 5.2). */
#include "grammar/json_schema/uri.h"
#include "grammar/json_schema/context.h"
#include <string.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Size of "scheme:", 0 without one. */
static size_t scheme_size(const char *uri)
{
    size_t n = 0;
    if (!is_letter(*uri))
        return 0;
    while (is_letter(uri[n]) || (uri[n] >= '0' && uri[n] <= '9') ||
           (uri[n] && strchr("+-.", uri[n])))
        n++;
    return uri[n] == ':' ? n + 1 : 0;
}

/* Size of "scheme://authority". */
static size_t authority_size(const char *uri)
{
    const size_t scheme = scheme_size(uri);
    if (strncmp(uri + scheme, "//", 2) != 0)
        return scheme;
    return scheme + 2 + strcspn(uri + scheme + 2, "/?#");
}

static int hex_value(char c)
{
    const char lower = (char)(c | 0x20);
    if (c >= '0' && c <= '9')
        return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static const char *decode(struct qr_schema *s, const char *text)
{
    char *out = qr_schema_alloc(s, strlen(text) + 1, 1), *p = out;
    if (!out)
        return NULL;
    for (; *text; text++) {
        const int high = *text == '%' ? hex_value(text[1]) : -1;
        const int low = high >= 0 ? hex_value(text[2]) : -1;
        if (low >= 0 && (high || low)) {
            *p++ = (char)(high << 4 | low);
            text += 2;
        } else {
            *p++ = *text;
        }
    }
    *p = 0;
    return out;
}

/* Removes the segments . and .. of a path, in place (section 5.2.4). */
static void remove_dots(char *path)
{
    char *to = path;
    for (char *p = path; *p;) {
        const size_t n = strcspn(p + 1, "/") + 1; /* "/segment" */
        const bool last = !p[n];
        if (n == 2 && strncmp(p, "/.", 2) == 0) {
            if (last)
                *to++ = '/';
        } else if (n == 3 && strncmp(p, "/..", 3) == 0) {
            while (to > path && *--to != '/')
                ;
            if (last)
                *to++ = '/';
        } else {
            memmove(to, p, n);
            to += n;
        }
        p += n;
    }
    *to = 0;
}

const char *qr_uri_resolve(struct qr_schema *s, const char *base, const char *ref,
                           const char **fragment)
{
    const size_t n = strcspn(ref, "#"), scheme = scheme_size(base), top = authority_size(base);
    char *out = qr_schema_alloc(s, strlen(base) + n + 2, 1);
    *fragment = ref[n] ? decode(s, ref + n + 1) : "";
    if (!out || !*fragment)
        return NULL;
    if (!n) {
        memcpy(out, base, strlen(base));
    } else if (scheme_size(ref)) {
        memcpy(out, ref, n);
    } else if (strncmp(ref, "//", 2) == 0) {
        memcpy(out, base, scheme);
        memcpy(out + scheme, ref, n);
    } else if (*ref == '/') {
        memcpy(out, base, top);
        memcpy(out + top, ref, n);
    } else {
        size_t keep = strcspn(base, "?");
        if (*ref != '?')
            while (keep > top && base[keep - 1] != '/')
                keep--;
        memcpy(out, base, keep);
        memcpy(out + keep, ref, n);
    }
    const size_t path = authority_size(out);
    if (n && out[path] == '/')
        remove_dots(out + path);
    return out;
}
