/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"
#include "exchange.h"
#include "page.h"
#include "server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether a list element names this coding with a weight above 0. */
static bool allows_coding(const char *element, size_t size, const char *coding)
{
    const size_t n = strlen(coding);
    if (size < n || strncasecmp(element, coding, n) != 0)
        return false;
    const char *p = element + n, *const end = element + size;
    p += strspn(p, " \t");
    if (p >= end)
        return true;
    if (*p != ';')
        return false;
    p += 1 + strspn(p + 1, " \t");
    return p + 1 >= end || (*p != 'q' && *p != 'Q') || p[1] != '=' || strtod(p + 2, NULL) > 0;
}

/* Whether Accept-Encoding of the request allows gzip. */
static bool accepts_gzip(const struct exchange *x)
{
    const char *p = exchange_header(x, "Accept-Encoding");
    while (p != NULL && *p != '\0') {
        p += strspn(p, " \t,");
        const size_t size = strcspn(p, ",");
        if (allows_coding(p, size, "gzip"))
            return true;
        p += size;
    }
    return false;
}

/* Whether If-None-Match names this tag (with quotes), or is *. */
static bool has_tag(const struct exchange *x, const char *tag)
{
    const char *tags = exchange_header(x, "If-None-Match");
    return tags != NULL && (strcmp(tags, "*") == 0 || strstr(tags, tag) != NULL);
}

static void reply_page(struct exchange *x, const struct page *page)
{
    if (x->server->options.no_web) {
        struct api_error error = { 0 };
        api_fail(&error, 404, NULL, NULL, "The web pages are switched off (--no-web).");
        exchange_reply_error(x, &error);
        return;
    }
    const bool gzip = accepts_gzip(x);
    char tag[64];
    snprintf(tag, sizeof tag, "\"%s%s\"", page->etag, gzip ? "-gzip" : "");
    exchange_add_header(x, "ETag", tag);
    exchange_add_header(x, "Cache-Control",
                        "no-cache"); /* ask each time: the page fits the server */
    exchange_add_header(x, "Vary", "Accept-Encoding");
    exchange_add_header(x, "Content-Security-Policy", page->policy);
    exchange_add_header(x, "X-Content-Type-Options", "nosniff");
    exchange_add_header(x, "Referrer-Policy", "no-referrer");
    exchange_add_header(x, "Cross-Origin-Opener-Policy", "same-origin");
    if (has_tag(x, tag)) {
        exchange_reply(x, 304, "text/html; charset=utf-8", "", 0);
        return;
    }
    if (gzip)
        exchange_add_header(x, "Content-Encoding", "gzip");
    exchange_reply(x, 200, "text/html; charset=utf-8", gzip ? page->gzip : page->plain,
                   gzip ? page->gzip_size : page->plain_size);
}

void page_chat_route(struct exchange *x) { reply_page(x, &page_chat); }

void page_status_route(struct exchange *x) { reply_page(x, &page_status); }
