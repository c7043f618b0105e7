/* SPDX-License-Identifier: Apache-2.0 */
/* models_list.h - GET /v1/models and /v1/models/NAME. */
#ifndef QUIRE_SERVE_MODELS_LIST_H
#define QUIRE_SERVE_MODELS_LIST_H

struct exchange;

void models_list_route(struct exchange *x);
void models_get_route(struct exchange *x);

#endif
