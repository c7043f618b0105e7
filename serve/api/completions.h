/* SPDX-License-Identifier: Apache-2.0 */
/* completions.h - POST /v1/completions: OpenAI's text completion API. */
#ifndef QUIRE_SERVE_COMPLETIONS_H
#define QUIRE_SERVE_COMPLETIONS_H

struct exchange;

void completions_route(struct exchange *x);

#endif
