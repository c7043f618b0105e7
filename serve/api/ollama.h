/* SPDX-License-Identifier: Apache-2.0 */
/* ollama.h - POST /api/chat and /api/generate of Ollama's API: text as lines of JSON. */
#ifndef QUIRE_SERVE_OLLAMA_H
#define QUIRE_SERVE_OLLAMA_H

struct exchange;

void ollama_chat_route(struct exchange *x);
void ollama_generate_route(struct exchange *x);

#endif
