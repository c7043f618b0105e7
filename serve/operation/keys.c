/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - API keys: the file of clients, finding the client of a key, limits of a client. */
#include "keys.h"
#include "key_file.h"
#include "rate_limit.h"
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What changes while the server runs. */
struct key_state {
    struct rate_limit requests, tokens;
    uint32_t n_running;
};

struct keys {
    struct key_file file; /* no entries: only the anonymous client */
    struct key *keys;     /* [n] clients of the entries, or the anonymous one */
    struct key_state *states;
    uint32_t n;
};

static bool sha256(const void *data, size_t size, uint8_t digest[KEY_DIGEST_BYTES])
{
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, data, size, digest) == 0;
}

bool keys_hash(const void *key, size_t size, char hash[KEYS_HASH_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[KEY_DIGEST_BYTES];
    if (!sha256(key, size, digest))
        return false;
    char *out = stpcpy(hash, KEY_HASH_PREFIX);
    for (int i = 0; i < KEY_DIGEST_BYTES; i++) {
        *out++ = hex[digest[i] >> 4];
        *out++ = hex[digest[i] & 15];
    }
    *out = '\0';
    return true;
}

/* A number other than 0 that follows from `data` and, for another purpose, is another one. */
static bool derive(const char *purpose, const void *data, size_t size, uint64_t *number)
{
    uint8_t input[256], digest[KEY_DIGEST_BYTES];
    const size_t n = strlen(purpose) + 1;
    memcpy(input, purpose, n);
    memcpy(input + n, data, size);
    if (!sha256(input, n + size, digest))
        return false;
    memcpy(number, digest, sizeof *number);
    *number += *number == 0;
    return true;
}

_Static_assert(sizeof "quire shared salt" + KEY_TEXT_SIZE <= 256, "derive() has no room");

static bool set_key(struct key *key, struct key_state *state, const struct key_entry *e)
{
    *key = (struct key){
        .name = e->name,
        .priority = e->priority,
        .requests_per_minute = e->requests_per_minute,
        .tokens_per_minute = e->tokens_per_minute,
        .max_concurrent = e->max_concurrent,
        .state = state,
    };
    /* loop_now() is monotonic and not negative: a bucket that is full at 0 is full at start */
    rate_limit_init(&state->requests, e->requests_per_minute, 0);
    rate_limit_init(&state->tokens, e->tokens_per_minute, 0);
    return derive("quire client", e->digest, KEY_DIGEST_BYTES, &key->client) &&
           (e->salt[0] != '\0'
                ? derive("quire shared salt", e->salt, strlen(e->salt), &key->cache_salt)
                : derive("quire cache salt", e->digest, KEY_DIGEST_BYTES, &key->cache_salt));
}

static bool set_keys(struct keys *k)
{
    k->n = k->file.n > 0 ? k->file.n : 1;
    k->keys = calloc(k->n, sizeof *k->keys);
    k->states = calloc(k->n, sizeof *k->states);
    if (k->keys == NULL || k->states == NULL)
        return false;
    for (uint32_t i = 0; i < k->file.n; i++)
        if (!set_key(&k->keys[i], &k->states[i], &k->file.entries[i]))
            return false;
    if (k->file.n == 0)
        k->keys[0].state = &k->states[0];
    return true;
}

struct keys *keys_open(const char *path, struct api_error *error)
{
    struct keys *k = calloc(1, sizeof *k);
    if (k != NULL && path != NULL && !key_file_read(&k->file, path, error)) {
        keys_close(k);
        return NULL;
    }
    if (k == NULL || !set_keys(k)) {
        api_fail(error, 500, NULL, NULL, "out of memory");
        keys_close(k);
        return NULL;
    }
    return k;
}

void keys_close(struct keys *k)
{
    if (k == NULL)
        return;
    key_file_free(&k->file);
    free(k->keys);
    free(k->states);
    free(k);
}

/* The key in "Bearer KEY", with its length; NULL for other schemes and without a key. */
static const char *bearer(const char *authorization)
{
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    return authorization + 7;
}

static const char *trim(const char *s, size_t *size)
{
    s += strspn(s, " \t");
    *size = strlen(s);
    while (*size > 0 && (s[*size - 1] == ' ' || s[*size - 1] == '\t'))
        --*size;
    return s;
}

const struct key *keys_find(const struct keys *k, const char *authorization, const char *x_api_key)
{
    if (k->file.n == 0)
        return &k->keys[0];
    const char *key = bearer(authorization);
    if (key == NULL)
        key = x_api_key;
    uint8_t digest[KEY_DIGEST_BYTES];
    size_t size;
    if (key == NULL || (key = trim(key, &size), size == 0) || !sha256(key, size, digest))
        return NULL;
    /* Neither the entry nor the number of equal bytes changes the time. */
    uint32_t found = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        unsigned difference = 0;
        for (int j = 0; j < KEY_DIGEST_BYTES; j++)
            difference |= digest[j] ^ k->file.entries[i].digest[j];
        found |= (i + 1) & -(uint32_t)(((difference - 1) >> 31) & 1);
    }
    return found == 0 ? NULL : &k->keys[found - 1];
}

static bool refuse(struct api_error *error, const struct key *key, double wait, double limit,
                   const char *unit)
{
    api_fail(error, 429, "rate_limit_exceeded", NULL,
             "rate limit of client '%s' reached: %.10g %s; try again in %.0f seconds", key->name,
             limit, unit, ceil(wait));
    error->retry_after = wait;
    return false;
}

bool keys_begin(const struct key *key, double now, struct api_error *error)
{
    struct key_state *s = key->state;
    if (key->max_concurrent != 0 && s->n_running >= key->max_concurrent)
        return refuse(error, key, 1, key->max_concurrent, "requests at a time");
    double wait = rate_limit_wait(&s->requests, now);
    if (wait > 0)
        return refuse(error, key, wait, key->requests_per_minute, "requests per minute");
    wait = rate_limit_wait(&s->tokens, now);
    if (wait > 0)
        return refuse(error, key, wait, key->tokens_per_minute, "tokens per minute");
    rate_limit_take(&s->requests, now, 1);
    s->n_running++;
    return true;
}

void keys_end(const struct key *key, double now, uint64_t tokens)
{
    struct key_state *s = key->state;
    rate_limit_take(&s->tokens, now, (double)tokens);
    s->n_running--;
}
