/* SPDX-License-Identifier: Apache-2.0 */
/* cors.h - which web pages may use the server. A browser names the origin of the page; a request
 * without one does not come from a page. Pages of the server itself are always allowed. */
#ifndef QUIRE_SERVE_CORS_H
#define QUIRE_SERVE_CORS_H
#include <stdbool.h>

struct exchange;
struct MHD_Response;

bool cors_allows(const struct exchange *x);

/* Answers a preflight request (OPTIONS) of an allowed origin; false if x is something else. */
bool cors_preflight(struct exchange *x);

void cors_add_headers(const struct exchange *x, struct MHD_Response *response);

#endif
