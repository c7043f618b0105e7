/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - API keys: who may use the server, how much, and which prefix cache. */
#ifndef QUIRE_SERVE_KEYS_H
#define QUIRE_SERVE_KEYS_H
#include "error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keys;

/* One client. The anonymous one has no name and only the limits of the options. */
struct key {
    const char *name;    /* for logs and metrics; never the key itself */
    uint64_t client;     /* fairness key for the engine */
    uint64_t cache_salt; /* clients with different keys share no prefixes */
    int32_t priority;
    double requests_per_minute; /* 0 = no limit */
    double tokens_per_minute;   /* prompt and answer; 0 = no limit */
    uint32_t max_concurrent;    /* 0 = no limit */
    struct key_state *state;
};

/* Reads a file of keys. path NULL: one anonymous key without limits. Format, one client per line:
 *
 *     NAME sha256:HEX [rpm=60] [tpm=100000] [concurrent=4] [priority=0] [salt=TEXT]
 *
 * `quire-server --hash-key` prints the second word for a key on standard input. Lines that begin
 * with # and empty ones are skipped. Clients of equal salt share prefixes; without it every key has
 * its own, which follows from its digest and is the same after a restart. A file that others than
 * its owner may access is an error. NULL: *error names the line. */
struct keys *keys_open(const char *path, struct api_error *error);
void keys_close(struct keys *k);

/* The client of the headers "Authorization: Bearer KEY" or "x-api-key: KEY", either may be NULL; of
 * two keys the first one counts. NULL: the key is missing or wrong. Compares digests in constant
 * time, whichever key it is. */
const struct key *keys_find(const struct keys *k, const char *authorization, const char *x_api_key);

/* Admits a request at time `now` (seconds), or sets a 429 with retry_after. An admitted request
 * ends with keys_end(), with the tokens it used. A minute's worth of requests or tokens may be used
 * at once. The tokens of a request count when it ends: what exceeds the limit delays later ones. */
bool keys_begin(const struct key *key, double now, struct api_error *error);
void keys_end(const struct key *key, double now, uint64_t tokens);

/* Writes "sha256:HEX" of a key, NUL-terminated. False: out of memory. */
enum { KEYS_HASH_SIZE = 72 };
bool keys_hash(const void *key, size_t size, char hash[KEYS_HASH_SIZE]);

#endif
