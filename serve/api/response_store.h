/* SPDX-License-Identifier: Apache-2.0 */
/* response_store.h - answers of the responses API that clients can get and continue. In memory;
 * the one that was unused the longest goes when there are too many or too large ones. Event loop
 * only. */
#ifndef QUIRE_SERVE_RESPONSE_STORE_H
#define QUIRE_SERVE_RESPONSE_STORE_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key;
struct response_store;

struct stored_response {
    json_t *response;     /* the object that the client got */
    json_t *input;        /* [items] of the request */
    json_t *conversation; /* [{role, content}] of this and all earlier turns */
};

/* Keeps at most max_count responses; 0 keeps none. NULL: out of memory. */
struct response_store *response_store_create(uint32_t max_count);
void response_store_destroy(struct response_store *s);

/* Keeps a response under its id, for clients with this key. Takes the references. */
void response_store_add(struct response_store *s, const struct key *key, const char *id,
                        const struct stored_response *response);

/* The response of an id; NULL if there is none for clients with this key. Borrowed until the next
 * call that adds or removes one. */
const struct stored_response *response_store_find(struct response_store *s, const struct key *key,
                                                  const char *id);

/* Whether there was one to remove. */
bool response_store_remove(struct response_store *s, const struct key *key, const char *id);

#endif
