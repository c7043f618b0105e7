/* SPDX-License-Identifier: Apache-2.0 */
/* receive.h - receives a request: what is checked before its handler is called. */
#ifndef QUIRE_SERVE_RECEIVE_H
#define QUIRE_SERVE_RECEIVE_H
#include <stdbool.h>
#include <stddef.h>

struct exchange;

/* The header is complete. Whether an answer is ready before the body is read. */
bool receive_header(struct exchange *x);

/* Takes a piece of the body; *size becomes 0. False: the connection must be closed. */
bool receive_body(struct exchange *x, const char *data, size_t *size);

/* The body is complete: calls the handler. */
void receive_end(struct exchange *x);

#endif
