/* SPDX-License-Identifier: Apache-2.0 */
/* embeddings.h - POST /v1/embeddings. */
#ifndef QUIRE_SERVE_EMBEDDINGS_H
#define QUIRE_SERVE_EMBEDDINGS_H

struct exchange;

void embeddings_route(struct exchange *x);

#endif
