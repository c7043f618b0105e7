/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_key.h - POST /v1/prefix-key: the key by which a proxy sends the turns of a conversation to
 * the server that has its prefix in the cache.
 *
 * The body is one of a chat, completion, response or Anthropic request. The key is the first 16 hex
 * digits of the SHA-256 of these strings in UTF-8, joined by line feeds (0x0A):
 *
 *  - `model` as the client sends it, empty without one;
 *  - with `messages` or an array in `input`: "system" and the text of a top-level `system` or
 *    `instructions`, if there is one; then role and text of every message up to and with the first
 *    one of role user, or of all messages if there is none. Items of `input` without a role are
 *    skipped. The text is `content`, or the `text` of its parts, concatenated; empty for null;
 *  - with a string in `input`: "system" and the instructions, if there are any, "user" and the
 *    string;
 *  - with `prompt`: "prompt" and the first 256 bytes of the (first) prompt, or its first 64 token
 *    ids in decimal, joined by spaces.
 *
 * In Python: sha256("\n".join([model, "system", s, "user", u]).encode()).hexdigest()[:16] */
#ifndef QUIRE_SERVE_PREFIX_KEY_H
#define QUIRE_SERVE_PREFIX_KEY_H
#include "error.h"
#include <jansson.h>
#include <stdbool.h>

struct exchange;

void prefix_key_route(struct exchange *x);

/* The key of a parsed body. False: *error. */
enum { PREFIX_KEY_SIZE = 17 };
bool prefix_key_compute(json_t *body, char key[PREFIX_KEY_SIZE], struct api_error *error);

#endif
