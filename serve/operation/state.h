/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - GET /health, /ready, /version and /slots: what the server is doing. */
#ifndef QUIRE_SERVE_STATE_H
#define QUIRE_SERVE_STATE_H

struct exchange;

void health_route(struct exchange *x);
void ready_route(struct exchange *x);
void version_route(struct exchange *x);
void slots_route(struct exchange *x);

#endif
