/* SPDX-License-Identifier: Apache-2.0 */
/* tag_members.h - members of the objects of a structural tag, with errors that name their place. */
#ifndef QR_GRAMMAR_FRONT_END_TAG_MEMBERS_H
#define QR_GRAMMAR_FRONT_END_TAG_MEMBERS_H
#include "grammar/core/front_end.h"
#include "json/json.h"

enum {
    QR_TAG_MAX_PATH = 256,      /* bytes; longer paths are cut */
    QR_TAG_MAX_TRIGGERS = 16384 /* bytes of all triggers of a format: their check is quadratic */
};

/* A value in the document. */
struct qr_tag_place {
    const struct qr_tag_place *parent; /* NULL: the document */
    const char *name;                  /* member, or NULL: index */
    size_t index;
};

/* A structural tag under construction. */
struct qr_tags {
    struct qr_front_end *f;
    struct qr_regex_set *set;
    struct quire_error *err;
};

/* The JSON pointer, as a fragment: "#/format/tags/0". */
void qr_tags_path(const struct qr_tag_place *at, char *out, size_t size);

/* Fails with QUIRE_E_INVALID_ARG. */
quire_status qr_tags_bad(const struct qr_tags *t, const struct qr_tag_place *at, const char *what);

/* Returns status; puts the place of the member in front of its message if it is a failure. */
quire_status qr_tags_within(const struct qr_tags *t, const struct qr_tag_place *at,
                            const char *name, quire_status status);

/* Fails for a member that is neither "type" nor one of the names, each with a blank before it. */
quire_status qr_tags_check_members(const struct qr_tags *t, const struct qr_json *object,
                                   const char *names,
                                   const struct qr_tag_place *at) QUIRE_MUST_CHECK;

/* A member that must be a string. */
quire_status qr_tags_string(const struct qr_tags *t, const struct qr_json *object, const char *name,
                            const struct qr_tag_place *at, const char **out) QUIRE_MUST_CHECK;

/* A boolean, false if it is absent. */
quire_status qr_tags_flag(const struct qr_tags *t, const struct qr_json *object, const char *name,
                          const struct qr_tag_place *at, bool *out) QUIRE_MUST_CHECK;

/* A count up to 100000, `initial` if it is absent or null, or -1 for an unbounded one. */
quire_status qr_tags_count(const struct qr_tags *t, const struct qr_json *object, const char *name,
                           const struct qr_tag_place *at, uint32_t initial,
                           uint32_t *out) QUIRE_MUST_CHECK;

/* Fails with QUIRE_E_INVALID_ARG if a trigger can begin inside another or inside itself: text and
 * the second trigger might then contain the first, and no tag behind it. Fails with QUIRE_E_LIMIT
 * for more than QR_TAG_MAX_TRIGGERS bytes. */
quire_status qr_tags_check_overlap(const struct qr_tags *t, const char *const *triggers, size_t n,
                                   const struct qr_tag_place *at) QUIRE_MUST_CHECK;

#endif
