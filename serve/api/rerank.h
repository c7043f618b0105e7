/* SPDX-License-Identifier: Apache-2.0 */
/* rerank.h - POST /v1/rerank and /v1/score: scores of pairs of texts. */
#ifndef QUIRE_SERVE_RERANK_H
#define QUIRE_SERVE_RERANK_H

struct exchange;

void rerank_route(struct exchange *x);
void score_route(struct exchange *x);

#endif
