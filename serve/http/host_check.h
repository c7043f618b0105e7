/* SPDX-License-Identifier: Apache-2.0 */
/* host_check.h - by which names clients may call the server.
 *
 * A page of any site can have its own name resolve to 127.0.0.1 (DNS rebinding). The browser then
 * takes a server on this machine for that site and lets the page read its answers. Such requests
 * carry the name of the site in their Host header, which pages cannot choose. */
#ifndef QUIRE_SERVE_HOST_CHECK_H
#define QUIRE_SERVE_HOST_CHECK_H
#include <stdbool.h>

struct exchange;

/* Whether the server, where server.checks_host is set, may be called as in the Host header of the
 * request: by an address, as localhost or a name under it, as in --host, or by a name of
 * --allowed-host. A request without the header does not come from a browser. */
bool host_allows(const struct exchange *x);

#endif
