/* SPDX-License-Identifier: Apache-2.0 */
/* ollama.h - the routes of Ollama's API. */
#ifndef QUIRE_SERVE_OLLAMA_H
#define QUIRE_SERVE_OLLAMA_H

struct exchange;

void ollama_chat_route(struct exchange *x);
void ollama_generate_route(struct exchange *x);
void ollama_embed_route(struct exchange *x);
void ollama_embeddings_route(struct exchange *x); /* the older form of embed */
void ollama_tags_route(struct exchange *x);
void ollama_ps_route(struct exchange *x);
void ollama_show_route(struct exchange *x);
void ollama_version_route(struct exchange *x);

#endif
