/* SPDX-License-Identifier: Apache-2.0 */
/* tag_writer.h - writes the JSON text of structural tags. */
#ifndef QR_CHAT_FORMAT_OUTPUT_TAG_WRITER_H
#define QR_CHAT_FORMAT_OUTPUT_TAG_WRITER_H
#include "chat_format/output/bytes.h"
#include "json/json.h"

struct qr_tag_writer {
    const struct quire_allocator *allocator;
    struct qr_bytes out;
    bool nomem; /* memory ran out: the text is incomplete */
};

void qr_tag_text(struct qr_tag_writer *w, const char *json);
/* size bytes of text as a JSON string. */
void qr_tag_string(struct qr_tag_writer *w, const char *text, size_t size);
/* A value, as JSON text. */
void qr_tag_value(struct qr_tag_writer *w, const struct qr_json *v);
/* The schema of arguments, which are an object whatever it says: NULL: an object without members.
 * False: the schema allows no object. */
bool qr_tag_object_schema(struct qr_tag_writer *w, const struct qr_json *schema);
/* {"type":"const_string"}, {"type":"regex"}. */
void qr_tag_const(struct qr_tag_writer *w, const char *text, size_t size);
void qr_tag_regex(struct qr_tag_writer *w, const char *pattern);
/* `,"NAME":true` or false. */
void qr_tag_flag(struct qr_tag_writer *w, const char *name, bool value);

#endif
