/* SPDX-License-Identifier: Apache-2.0 */
#include "cors.h"
#include "exchange.h"
#include "server.h"
#include <microhttpd.h>
#include <string.h>
#include <strings.h>

/* Whether the configuration lists the origin. */
static bool is_listed(const struct exchange *x, const char *origin)
{
    const struct option_list *list = &x->server->options.cors_origins;
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->text[i], "*") == 0 || strcasecmp(list->text[i], origin) == 0)
            return true;
    return false;
}

bool cors_allows(const struct exchange *x)
{
    const char *origin = exchange_header(x, "Origin");
    if (origin == NULL || is_listed(x, origin))
        return true;
    const char *host = exchange_header(x, "Host"), *at = strstr(origin, "://");
    return host != NULL && at != NULL && strcasecmp(at + 3, host) == 0;
}

bool cors_preflight(struct exchange *x)
{
    const char *origin = exchange_header(x, "Origin");
    if (strcmp(x->method, "OPTIONS") != 0 || origin == NULL || !is_listed(x, origin))
        return false;
    exchange_add_header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    const char *headers = exchange_header(x, "Access-Control-Request-Headers");
    exchange_add_header(x, "Access-Control-Allow-Headers",
                        headers ? headers : "Authorization, Content-Type");
    exchange_add_header(x, "Access-Control-Max-Age", "600");
    exchange_reply(x, 204, NULL, NULL, 0);
    return true;
}

void cors_add_headers(const struct exchange *x, struct MHD_Response *response)
{
    const char *origin = exchange_header(x, "Origin");
    if (x->server->options.cors_origins.n == 0)
        return;
    MHD_add_response_header(response, "Vary", "Origin");
    if (origin != NULL && is_listed(x, origin)) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
        MHD_add_response_header(response, "Access-Control-Expose-Headers",
                                "X-Request-Id, Retry-After");
    }
}
