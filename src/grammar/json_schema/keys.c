/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - the keys of objects as numbers, and strings against regular expressions. */
#include "grammar/json_schema/keys.h"
#include "base/keyed_hash.h"
#include "grammar/json_schema/context.h"
#include "grammar/regex/json_string.h"
#include <string.h>

struct key {
    const char *text;
    size_t size;
};

struct qr_key_table {
    struct key *keys;
    uint32_t *slots;      /* per key */
    uint32_t *hash_table; /* key + 1, 0 = free */
    uint32_t n, capacity; /* hash_table has 2 * capacity entries */
    uint64_t hash_key;
};

static bool grow(struct qr_schema *s, struct qr_key_table *t)
{
    const uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
    struct key *keys = qr_schema_alloc(s, capacity, sizeof *keys);
    uint32_t *slots = qr_schema_alloc(s, capacity, sizeof *slots);
    uint32_t *table = qr_schema_alloc(s, 2 * (size_t)capacity, sizeof *table);
    if (!keys || !slots || !table)
        return false;
    if (t->n) {
        memcpy(keys, t->keys, t->n * sizeof *keys);
        memcpy(slots, t->slots, t->n * sizeof *slots);
    }
    for (uint32_t i = 0; i < t->n; i++) {
        size_t at = qr_hash_bytes(t->hash_key, keys[i].text, keys[i].size) & (2 * capacity - 1);
        while (table[at])
            at = (at + 1) & (2 * capacity - 1);
        table[at] = i + 1;
    }
    t->keys = keys;
    t->slots = slots;
    t->hash_table = table;
    t->capacity = capacity;
    return true;
}

struct qr_key_table *qr_keys_new(struct qr_schema *s)
{
    struct qr_key_table *t = qr_schema_alloc(s, 1, sizeof *t);
    if (!t)
        return NULL;
    t->hash_key = qr_hash_key(t);
    return grow(s, t) ? t : NULL;
}

uint32_t qr_key_id(struct qr_schema *s, const char *text, size_t size)
{
    struct qr_key_table *t = s->keys;
    if (t->n == t->capacity && !grow(s, t))
        return UINT32_MAX;
    size_t at = qr_hash_bytes(t->hash_key, text, size) & (2 * t->capacity - 1);
    for (; t->hash_table[at]; at = (at + 1) & (2 * t->capacity - 1)) {
        const struct key *k = &t->keys[t->hash_table[at] - 1];
        if (k->size == size && memcmp(k->text, text, size) == 0)
            return t->hash_table[at] - 1;
    }
    t->keys[t->n] = (struct key){ text, size };
    t->hash_table[at] = ++t->n;
    return t->n - 1;
}

const char *qr_key_text(const struct qr_schema *s, uint32_t key, size_t *size)
{
    *size = s->keys->keys[key].size;
    return s->keys->keys[key].text;
}

uint32_t qr_key_count(const struct qr_schema *s) { return s->keys->n; }

uint32_t *qr_key_slots(struct qr_schema *s) { return s->keys->slots; }

/* The encoding of a byte of UTF-8 in the contents of a JSON string (regex/json_string.h). */
static size_t encode(uint8_t byte, char out[6])
{
    static const char short_escapes[] = "\b\f\n\r\t", letters[] = "bfnrt",
                      hex[] = "0123456789abcdef";
    const char *found = byte && byte < 0x20 ? strchr(short_escapes, byte) : NULL;
    if (byte == '"' || byte == '\\' || found) {
        out[0] = '\\';
        out[1] = found ? letters[found - short_escapes] : (char)byte;
        return 2;
    }
    if (byte < 0x20) {
        memcpy(out, "\\u00", 4);
        out[4] = hex[byte >> 4];
        out[5] = hex[byte & 15];
        return 6;
    }
    out[0] = (char)byte;
    return 1;
}

bool qr_string_matches(struct qr_schema *s, qr_regex r, const char *text, size_t size)
{
    char code[6];
    for (size_t i = 0; i < size; i++) {
        const size_t n = encode((uint8_t)text[i], code);
        for (size_t k = 0; k < n; k++) {
            if (r == QR_REGEX_ANY || r == QR_REGEX_NONE)
                return r == QR_REGEX_ANY;
            r = qr_regex_derivative(s->regexes, r, (uint8_t)code[k]);
        }
    }
    return qr_regex_nullable(s->regexes, r);
}

qr_regex qr_string_literal(struct qr_schema *s, const char *text, size_t size)
{
    return qr_json_literal(s->regexes, text, size);
}

bool qr_string_is_none(struct qr_schema *s, qr_regex r)
{
    bool none;
    if (r == QR_REGEX_NONE || r == QR_REGEX_ANY)
        return r == QR_REGEX_NONE;
    const qr_regex both = qr_regex_and(s->regexes, (qr_regex[]){ s->any_string, r }, 2);
    return qr_regex_is_none(s->regexes, both, QR_SCHEMA_MAX_STATES, &none) == QUIRE_OK && none;
}
