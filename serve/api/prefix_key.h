/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_key.h - POST /v1/prefix-key: the key by which a proxy sends a conversation to the server that has its prefix. */
#ifndef QUIRE_SERVE_PREFIX_KEY_H
#define QUIRE_SERVE_PREFIX_KEY_H

struct exchange;

void prefix_key_route(struct exchange *x);

#endif
