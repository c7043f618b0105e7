/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_embed.h - POST /api/embed and /api/embeddings of Ollama's API. */
#ifndef QUIRE_SERVE_OLLAMA_EMBED_H
#define QUIRE_SERVE_OLLAMA_EMBED_H

struct exchange;

void ollama_embed_route(struct exchange *x);
void ollama_embeddings_route(struct exchange *x); /* the older form, of one prompt */

#endif
