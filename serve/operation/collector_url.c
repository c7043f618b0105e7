/* SPDX-License-Identifier: Apache-2.0 */
/* collector_url.c - the address of an OpenTelemetry collector. */
#include "collector_url.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_PORT = 4318 };
#define SCHEME "http://"

static bool fail(struct api_error *error, const char *text, const char *what)
{
    return api_fail(error, 500, NULL, NULL, "--otlp-endpoint %.200s: %s", text, what);
}

/* Copies n bytes if they fit with a NUL. */
static bool copy(char *out, size_t capacity, const char *from, size_t n)
{
    if (n >= capacity)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

static bool parse_port(const char *text, size_t n, uint16_t *port)
{
    unsigned long value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || i == 5)
            return false;
        value = value * 10 + (unsigned long)(text[i] - '0');
    }
    *port = (uint16_t)value;
    return value > 0 && value <= 65535;
}

bool collector_url_parse(struct collector_url *u, const char *text, struct api_error *error)
{
    *u = (struct collector_url){ .port = DEFAULT_PORT };
    if (strncasecmp(text, "https://", 8) == 0)
        return fail(error, text,
                    "only http:// is supported; a collector on this host can forward "
                    "traces by TLS");
    if (strncasecmp(text, SCHEME, strlen(SCHEME)) != 0)
        return fail(error, text, "expected http://HOST:PORT/v1/traces");
    for (const char *p = text; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == '#')
            return fail(error, text, "has a character that a URL must not have");
    const char *authority = text + strlen(SCHEME);
    const size_t size = strcspn(authority, "/?");
    if (memchr(authority, '@', size) != NULL)
        return fail(error, text, "a user name is not supported");
    const bool bracket = authority[0] == '[';
    const char *host = authority + bracket;
    const size_t host_size = strcspn(host, bracket ? "]/?" : ":/?");
    const char *after = host + host_size;
    if (host_size == 0 || (bracket && *after++ != ']'))
        return fail(error, text, "has no host");
    const size_t left = size - (size_t)(after - authority);
    if (left > 0 && (*after != ':' || !parse_port(after + 1, left - 1, &u->port)))
        return fail(error, text, "the port must be a number from 1 to 65535");
    const char *path = authority + size;
    if (*path == '\0' || strcmp(path, "/") == 0)
        path = "/v1/traces";
    if (!copy(u->host, sizeof u->host, host, host_size) ||
        !copy(u->authority, sizeof u->authority, authority, size) || *path != '/' ||
        !copy(u->path, sizeof u->path, path, strlen(path)))
        return fail(error, text, "is too long, or lacks a path before its query");
    return true;
}
