/* SPDX-License-Identifier: Apache-2.0 */
/* responses.h - OpenAI's responses API. */
#ifndef QUIRE_SERVE_RESPONSES_H
#define QUIRE_SERVE_RESPONSES_H

struct exchange;

void responses_create_route(struct exchange *x); /* POST /v1/responses */
void responses_get_route(struct exchange *x);    /* GET /v1/responses/ID[/input_items] */
void responses_cancel_route(struct exchange *x); /* POST /v1/responses/ID/cancel */
void responses_delete_route(struct exchange *x); /* DELETE /v1/responses/ID */

#endif
