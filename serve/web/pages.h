/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - the web pages, compiled in. */
#ifndef QUIRE_SERVE_PAGES_H
#define QUIRE_SERVE_PAGES_H

struct exchange;

void page_chat_route(struct exchange *x);   /* GET / */
void page_status_route(struct exchange *x); /* GET /status */

#endif
