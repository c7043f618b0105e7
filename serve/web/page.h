/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - a web page that is compiled in. The definitions are written by cmake/web_page.cmake. */
#ifndef QUIRE_SERVE_PAGE_H
#define QUIRE_SERVE_PAGE_H
#include <stddef.h>

struct page {
    const unsigned char *plain, *gzip; /* the same text */
    size_t plain_size, gzip_size;
    const char *etag;   /* digest of the text, without quotes */
    const char *policy; /* Content-Security-Policy */
};

extern const struct page page_chat, page_status;

#endif
