/* SPDX-License-Identifier: Apache-2.0 */
#include "host_check.h"
#include "exchange.h"
#include "server.h"
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 253 }; /* bytes of a domain name */

/* Copies the name in a Host header without the port and a final dot; false: it is none. */
static bool read_name(const char *host, char name[MAX_NAME + 1])
{
    const bool in_brackets = host[0] == '[';
    host += in_brackets;
    size_t n = strcspn(host, in_brackets ? "]" : ":");
    const char *rest = host + n;
    if (in_brackets && *rest++ != ']')
        return false;
    if (*rest == ':')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (n > 0 && host[n - 1] == '.')
        n--;
    if (n == 0 || n > MAX_NAME || *rest != '\0')
        return false;
    memcpy(name, host, n);
    name[n] = '\0';
    return true;
}

/* An address is not resolved, and "localhost" never leaves the machine (RFC 6761). */
static bool needs_no_resolver(const char *name)
{
    static const char local[] = "localhost";
    struct in6_addr address;
    if (inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1)
        return true;
    const size_t n = strlen(name), tail = sizeof local - 1;
    return n >= tail && strcasecmp(name + n - tail, local) == 0 &&
           (n == tail || name[n - tail - 1] == '.');
}

bool host_allows(const struct exchange *x)
{
    const struct options *o = &x->server->options;
    const char *host = exchange_header(x, "Host");
    char name[MAX_NAME + 1];
    if (!x->server->checks_host || host == NULL)
        return true;
    for (uint32_t i = 0; i < o->allowed_hosts.n; i++)
        if (strcmp(o->allowed_hosts.text[i], "*") == 0)
            return true;
    if (!read_name(host, name))
        return false;
    if (needs_no_resolver(name) || strcasecmp(name, o->host) == 0)
        return true;
    for (uint32_t i = 0; i < o->allowed_hosts.n; i++)
        if (strcasecmp(name, o->allowed_hosts.text[i]) == 0)
            return true;
    return false;
}
