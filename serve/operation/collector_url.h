/* SPDX-License-Identifier: Apache-2.0 */
/* collector_url.h - the address of an OpenTelemetry collector. */
#ifndef QUIRE_SERVE_COLLECTOR_URL_H
#define QUIRE_SERVE_COLLECTOR_URL_H
#include "error.h"
#include <stdbool.h>
#include <stdint.h>

struct collector_url {
    char host[256]; /* name or address, without the brackets of IPv6 */
    uint16_t port;
    char authority[280]; /* as in the URL, for the header Host */
    char path[512];
};

/* Parses http://HOST[:PORT][/PATH]. Without a port it is 4318, the port of OTLP/HTTP, and without a
 * path /v1/traces. False: *error names --otlp-endpoint. */
bool collector_url_parse(struct collector_url *u, const char *text, struct api_error *error);

#endif
