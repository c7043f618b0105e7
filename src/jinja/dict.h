/* SPDX-License-Identifier: Apache-2.0 */
/* dict.h - insertion-ordered dictionaries. */
#ifndef QR_JINJA_DICT_H
#define QR_JINJA_DICT_H
#include "jinja/types.h"

/* Equal keys have equal hashes. A type error for unhashable keys. */
quire_status qr_jinja_hash(struct qr_jinja *j, struct qr_jinja_value key, uint64_t *out);
quire_status qr_jinja_dict_new(struct qr_jinja *j, struct qr_jinja_dict **out);
/* An existing key keeps its position. */
quire_status qr_jinja_dict_set(struct qr_jinja *j, struct qr_jinja_dict *d,
                               struct qr_jinja_value key, struct qr_jinja_value value);
/* *out points to the value inside d, or is NULL. */
quire_status qr_jinja_dict_find(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                struct qr_jinja_value key, struct qr_jinja_value **out);
/* Same with the hash of the key, for a lookup in several dictionaries. */
quire_status qr_jinja_dict_find_hashed(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                       uint64_t hash, struct qr_jinja_value key,
                                       struct qr_jinja_value **out);
/* Same for a string key of n bytes. */
quire_status qr_jinja_dict_find_bytes(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                      const char *key, size_t n, struct qr_jinja_value **out);

#endif
