/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - POST /v1/messages: Anthropic's API. */
#ifndef QUIRE_SERVE_MESSAGES_H
#define QUIRE_SERVE_MESSAGES_H

struct exchange;

void messages_route(struct exchange *x);
void messages_count_tokens_route(struct exchange *x);

#endif
