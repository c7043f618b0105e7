/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_models.h - GET /api/tags, /api/ps, /api/version and POST /api/show of Ollama's API. */
#ifndef QUIRE_SERVE_OLLAMA_MODELS_H
#define QUIRE_SERVE_OLLAMA_MODELS_H

struct exchange;

void ollama_tags_route(struct exchange *x);
void ollama_ps_route(struct exchange *x);
void ollama_show_route(struct exchange *x);
void ollama_version_route(struct exchange *x);

#endif
