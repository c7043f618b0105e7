/* SPDX-License-Identifier: Apache-2.0 */
/* router.h - the table of routes. */
#ifndef QUIRE_SERVE_ROUTER_H
#define QUIRE_SERVE_ROUTER_H
#include "error.h"
#include <stddef.h>

struct exchange;

enum route_flags {
    ROUTE_PUBLIC = 1u << 0,  /* needs no API key */
    ROUTE_COMPUTE = 1u << 1, /* counts against the limits of the key */
};

struct route {
    const char *method;
    const char *path; /* exact, or a prefix that ends with `*` */
    void (*handler)(struct exchange *x);
    enum api_dialect dialect; /* shape of errors */
    unsigned flags;           /* enum route_flags */
};

/* Finds the route of a method and a path. NULL: *allowed lists the methods of the path, separated
 * by ", "; empty if there is no such path. HEAD finds the routes of GET. */
const struct route *router_find(const char *method, const char *path, const char **path_rest,
                                char allowed[64]);

#endif
