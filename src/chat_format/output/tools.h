/* SPDX-License-Identifier: Apache-2.0 */
/* tools.h - the tools on offer: names, and the types of their parameters. */
#ifndef QR_CHAT_FORMAT_OUTPUT_TOOLS_H
#define QR_CHAT_FORMAT_OUTPUT_TOOLS_H
#include "chat_format/output/bytes.h"
#include "json/json.h"
#include <quire/status.h>

struct qr_tool {
    const char *name; /* owned by the document */
    size_t name_size;
    const struct qr_json *parameters; /* schema of the arguments; NULL: any */
};

struct qr_tools {
    const struct quire_allocator *allocator;
    struct qr_json *document; /* NULL: no tools were given */
    struct qr_tool *tools;    /* [n] */
    size_t n;
};

/* Reads an OpenAI array of tools; json NULL: none were given. *t is all zeros on failure.
 * QUIRE_E_INVALID_ARG, with a message that names tools[i]; QUIRE_E_FORMAT; QUIRE_E_NOMEM. */
quire_status qr_tools_read(struct qr_tools *t, const char *json, const struct quire_allocator *a,
                           struct quire_error *err);
void qr_tools_free(struct qr_tools *t);

/* The tool of that name; NULL = none. */
const struct qr_tool *qr_tools_find(const struct qr_tools *t, const char *name, size_t size);

enum qr_value_type {
    QR_TYPE_STRING = 1,
    QR_TYPE_INTEGER,
    QR_TYPE_NUMBER,
    QR_TYPE_BOOLEAN,
    QR_TYPE_NULL,
    QR_TYPE_ARRAY,
    QR_TYPE_OBJECT,
};

/* The types a schema allows, in its order; n = 0: the schema does not say. */
struct qr_value_types {
    uint8_t n, types[7];
};
bool qr_value_types_have(const struct qr_value_types *t, enum qr_value_type type);

/* Whether the schema of the tool declares the property. tool may be NULL. */
bool qr_tool_declares(const struct qr_tool *tool, const char *key, size_t size);
struct qr_value_types qr_tool_property_types(const struct qr_tool *tool, const char *key,
                                             size_t size);

/* Appends the JSON text of a parameter that was written as raw text. Strings by schema stay text;
 * for other types the text is read as JSON, or as a Python literal; what fits no type of the
 * schema, and is no JSON where the schema does not say, is a string. False: out of memory. */
bool qr_tools_append_typed(const struct quire_allocator *a, struct qr_bytes *out,
                           const struct qr_value_types *types, const char *text, size_t size);

#endif
