/* SPDX-License-Identifier: Apache-2.0 */
/* key_file.h - reads the file of API keys; its format is in keys.h. */
#ifndef QUIRE_SERVE_KEY_FILE_H
#define QUIRE_SERVE_KEY_FILE_H
#include "error.h"
#include <stdbool.h>
#include <stdint.h>

enum { KEY_DIGEST_BYTES = 32, KEY_TEXT_SIZE = 65, MAX_KEYS = 10000 };
#define KEY_HASH_PREFIX "sha256:"

struct key_entry {
    char name[KEY_TEXT_SIZE];
    char salt[KEY_TEXT_SIZE]; /* "" = none */
    uint8_t digest[KEY_DIGEST_BYTES];
    double requests_per_minute, tokens_per_minute; /* 0 = no limit */
    uint32_t max_concurrent;                       /* 0 = no limit */
    int32_t priority;
};

struct key_file {
    struct key_entry *entries; /* [n] */
    uint32_t n;
};

/* Reads at least one entry; f is all zeros. On failure *error names path and line. */
bool key_file_read(struct key_file *f, const char *path, struct api_error *error);
void key_file_free(struct key_file *f);

#endif
