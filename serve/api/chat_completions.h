/* SPDX-License-Identifier: Apache-2.0 */
/* chat_completions.h - POST /v1/chat/completions: OpenAI's chat API. */
#ifndef QUIRE_SERVE_CHAT_COMPLETIONS_H
#define QUIRE_SERVE_CHAT_COMPLETIONS_H

struct exchange;

void chat_completions_route(struct exchange *x);

#endif
