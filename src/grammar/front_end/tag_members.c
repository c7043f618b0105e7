/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/tag_members.h"
#include "base/error.h"
#include <stdio.h>
#include <string.h>

enum { MAX_REPEAT = 100000 };

void qr_tags_path(const struct qr_tag_place *at, char *out, size_t size)
{
    if (at->parent == NULL) {
        snprintf(out, size, "#");
        return;
    }
    qr_tags_path(at->parent, out, size); /* as deep as the JSON, which is bounded */
    const size_t n = strlen(out);
    if (at->name != NULL)
        snprintf(out + n, size - n, "/%s", at->name);
    else
        snprintf(out + n, size - n, "/%zu", at->index);
}

quire_status qr_tags_bad(const struct qr_tags *t, const struct qr_tag_place *at, const char *what)
{
    char path[QR_TAG_MAX_PATH];
    qr_tags_path(at, path, sizeof path);
    return qr_fail(t->err, QUIRE_E_INVALID_ARG, "%s: %s", path, what);
}

quire_status qr_tags_within(const struct qr_tags *t, const struct qr_tag_place *at,
                            const char *name, quire_status status)
{
    const struct qr_tag_place here = { .parent = at, .name = name };
    char path[QR_TAG_MAX_PATH], message[sizeof t->err->msg];
    if (status == QUIRE_OK || t->err == NULL)
        return status;
    qr_tags_path(&here, path, sizeof path);
    memcpy(message, t->err->msg, sizeof message);
    return qr_fail(t->err, status, "%s: %s", path, message);
}

/* Whether a list of names, each with a blank before it, has one. */
static bool has_name(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = names; (p = strchr(p, ' ')) != NULL;)
        if (strncmp(++p, name, n) == 0 && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

quire_status qr_tags_check_members(const struct qr_tags *t, const struct qr_json *object,
                                   const char *names, const struct qr_tag_place *at)
{
    for (struct qr_json_iter it = qr_json_iterate(object); qr_json_next(&it);) {
        const struct qr_tag_place here = { .parent = at, .name = it.key };
        char path[QR_TAG_MAX_PATH];
        if (strcmp(it.key, "type") == 0 || has_name(names, it.key))
            continue;
        qr_tags_path(&here, path, sizeof path);
        return qr_fail(t->err, QUIRE_E_UNSUPPORTED, "%s: a member that this format does not have",
                       path);
    }
    return QUIRE_OK;
}

quire_status qr_tags_string(const struct qr_tags *t, const struct qr_json *object, const char *name,
                            const struct qr_tag_place *at, const char **out)
{
    const struct qr_tag_place here = { .parent = at, .name = name };
    *out = qr_json_string(qr_json_get(object, name));
    return *out != NULL ? QUIRE_OK : qr_tags_bad(t, &here, "a string is expected");
}

quire_status qr_tags_flag(const struct qr_tags *t, const struct qr_json *object, const char *name,
                          const struct qr_tag_place *at, bool *out)
{
    const struct qr_tag_place here = { .parent = at, .name = name };
    const struct qr_json *v = qr_json_get(object, name);
    *out = qr_json_is_true(v);
    return v == NULL || qr_json_is_bool(v) ? QUIRE_OK
                                           : qr_tags_bad(t, &here, "a boolean is expected");
}

quire_status qr_tags_count(const struct qr_tags *t, const struct qr_json *object, const char *name,
                           const struct qr_tag_place *at, uint32_t initial, uint32_t *out)
{
    const struct qr_tag_place here = { .parent = at, .name = name };
    const struct qr_json *v = qr_json_get(object, name);
    const int64_t n = qr_json_integer(v);
    *out = initial;
    if (v == NULL || qr_json_is_null(v) || (n == -1 && initial == QR_REGEX_UNBOUNDED))
        return QUIRE_OK;
    if (!qr_json_is_integer(v) || n < 0 || n > MAX_REPEAT)
        return qr_tags_bad(t, &here, "a number from 0 to 100000 is expected");
    *out = (uint32_t)n;
    return QUIRE_OK;
}

static bool begins_inside(const char *b, const char *a)
{
    for (a++; a[0] != '\0'; a++)
        if (strncmp(a, b, strlen(a)) == 0 || strncmp(a, b, strlen(b)) == 0)
            return true;
    return false;
}

quire_status qr_tags_check_overlap(const struct qr_tags *t, const char *const *triggers, size_t n,
                                   const struct qr_tag_place *at)
{
    char path[QR_TAG_MAX_PATH];
    size_t bytes = 0;
    for (size_t i = 0; i < n && bytes <= QR_TAG_MAX_TRIGGERS; i++)
        bytes += strlen(triggers[i]);
    qr_tags_path(at, path, sizeof path);
    if (bytes > QR_TAG_MAX_TRIGGERS)
        return qr_fail(t->err, QUIRE_E_LIMIT, "%s: more than %d bytes", path, QR_TAG_MAX_TRIGGERS);
    for (size_t i = 0; i < n * n; i++)
        if (begins_inside(triggers[i / n], triggers[i % n]))
            return qr_tags_bad(t, at, "no trigger may begin inside another or inside itself");
    return QUIRE_OK;
}
