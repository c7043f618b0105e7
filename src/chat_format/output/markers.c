/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - finds markers in the text that is not decided. */
#include "chat_format/output/markers.h"
#include <string.h>

void qr_markers_add(struct qr_marker_set *set, const qr_marker_list list,
                    enum qr_marker_action action)
{
    /* GCOVR_EXCL_BR_LINE: no format fills a list */
    for (unsigned i = 0; i < QR_FORMAT_MARKERS && list[i]; i++) {
        bool known = set->n == QR_MARKER_SET;
        for (unsigned j = 0; j < set->n && !known; j++)
            known = strcmp(set->items[j].text, list[i]) == 0;
        if (known)
            continue;
        const unsigned char first = (unsigned char)list[i][0];
        set->items[set->n++] =
            (struct qr_marker){ list[i], (uint8_t)strlen(list[i]), (uint8_t)action };
        set->first[first / 64] |= 1ull << first % 64;
    }
}

const struct qr_marker *qr_markers_at(const struct quire_chat_output *o,
                                      const struct qr_marker_set *set, size_t at, bool *more)
{
    const struct qr_marker *best = NULL;
    const size_t left = o->in.size - at;
    bool partial = false;
    for (unsigned i = 0; i < set->n; i++) {
        const struct qr_marker *const m = &set->items[i];
        const size_t n = m->size < left ? m->size : left;
        if (memcmp(o->in.data + at, m->text, n) != 0)
            continue;
        if (n < m->size)
            partial = true;
        else if (!best || m->size > best->size)
            best = m;
    }
    *more = partial && !o->final; /* a marker longer than the text is longer than `best` */
    return *more ? NULL : best;
}

const struct qr_marker *qr_markers_find(const struct quire_chat_output *o,
                                        const struct qr_marker_set *set, size_t from, size_t *pos)
{
    for (size_t i = from; i < o->in.size; i++) {
        const unsigned char c = (unsigned char)o->in.data[i];
        bool more = false;
        if (!(set->first[c / 64] >> c % 64 & 1))
            continue;
        const struct qr_marker *const m = qr_markers_at(o, set, i, &more);
        if (!m && !more)
            continue;
        *pos = i;
        return m;
    }
    *pos = o->in.size;
    return NULL;
}

int qr_text_at(const struct quire_chat_output *o, size_t at, const char *text)
{
    const size_t size = strlen(text), left = o->in.size - at;
    const size_t n = size < left ? size : left;
    if (n > 0 && memcmp(o->in.data + at, text, n) != 0)
        return 0;
    return n == size ? 1 : o->final ? 0 : -1;
}

bool qr_is_special(const struct quire_chat_output *o, size_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (o->special.data[at + i])
            return true;
    return false;
}

bool qr_skip_space(struct quire_chat_output *o)
{
    while (o->at < o->in.size && qr_is_space(o->in.data[o->at]))
        o->at++;
    return o->at < o->in.size;
}
