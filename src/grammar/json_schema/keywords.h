/* SPDX-License-Identifier: Apache-2.0 */
/* keywords.h - the keywords of a schema that restrict values. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_H
#define QR_GRAMMAR_JSON_SCHEMA_KEYWORDS_H
#include "grammar/json_schema/types.h"

/* Name, first draft, last draft. `dependencies`, the array form of `items` with `additionalItems`
 * and the boolean form of exclusiveMinimum and exclusiveMaximum are accepted in all drafts: they
 * are unambiguous there. In alphabetical order. */
#define QR_SCHEMA_KEYWORDS(X)                                                                      \
    X(dynamic_ref, "$dynamicRef", QR_DRAFT_2020, QR_DRAFT_2020)                                    \
    X(recursive_ref, "$recursiveRef", QR_DRAFT_2019, QR_DRAFT_2019)                                \
    X(ref, "$ref", QR_DRAFT_4, QR_DRAFT_2020)                                                      \
    X(additional_items, "additionalItems", QR_DRAFT_4, QR_DRAFT_2020)                              \
    X(additional_properties, "additionalProperties", QR_DRAFT_4, QR_DRAFT_2020)                    \
    X(all_of, "allOf", QR_DRAFT_4, QR_DRAFT_2020)                                                  \
    X(any_of, "anyOf", QR_DRAFT_4, QR_DRAFT_2020)                                                  \
    X(constant, "const", QR_DRAFT_6, QR_DRAFT_2020)                                                \
    X(contains, "contains", QR_DRAFT_6, QR_DRAFT_2020)                                             \
    X(dependencies, "dependencies", QR_DRAFT_4, QR_DRAFT_2020)                                     \
    X(dependent_required, "dependentRequired", QR_DRAFT_2019, QR_DRAFT_2020)                       \
    X(dependent_schemas, "dependentSchemas", QR_DRAFT_2019, QR_DRAFT_2020)                         \
    X(otherwise, "else", QR_DRAFT_7, QR_DRAFT_2020)                                                \
    X(enumeration, "enum", QR_DRAFT_4, QR_DRAFT_2020)                                              \
    X(exclusive_maximum, "exclusiveMaximum", QR_DRAFT_4, QR_DRAFT_2020)                            \
    X(exclusive_minimum, "exclusiveMinimum", QR_DRAFT_4, QR_DRAFT_2020)                            \
    X(format, "format", QR_DRAFT_4, QR_DRAFT_2020)                                                 \
    X(condition, "if", QR_DRAFT_7, QR_DRAFT_2020)                                                  \
    X(items, "items", QR_DRAFT_4, QR_DRAFT_2020)                                                   \
    X(max_contains, "maxContains", QR_DRAFT_2019, QR_DRAFT_2020)                                   \
    X(max_items, "maxItems", QR_DRAFT_4, QR_DRAFT_2020)                                            \
    X(max_length, "maxLength", QR_DRAFT_4, QR_DRAFT_2020)                                          \
    X(max_properties, "maxProperties", QR_DRAFT_4, QR_DRAFT_2020)                                  \
    X(maximum, "maximum", QR_DRAFT_4, QR_DRAFT_2020)                                               \
    X(min_contains, "minContains", QR_DRAFT_2019, QR_DRAFT_2020)                                   \
    X(min_items, "minItems", QR_DRAFT_4, QR_DRAFT_2020)                                            \
    X(min_length, "minLength", QR_DRAFT_4, QR_DRAFT_2020)                                          \
    X(min_properties, "minProperties", QR_DRAFT_4, QR_DRAFT_2020)                                  \
    X(minimum, "minimum", QR_DRAFT_4, QR_DRAFT_2020)                                               \
    X(multiple_of, "multipleOf", QR_DRAFT_4, QR_DRAFT_2020)                                        \
    X(negation, "not", QR_DRAFT_4, QR_DRAFT_2020)                                                  \
    X(one_of, "oneOf", QR_DRAFT_4, QR_DRAFT_2020)                                                  \
    X(pattern, "pattern", QR_DRAFT_4, QR_DRAFT_2020)                                               \
    X(pattern_properties, "patternProperties", QR_DRAFT_4, QR_DRAFT_2020)                          \
    X(prefix_items, "prefixItems", QR_DRAFT_2020, QR_DRAFT_2020)                                   \
    X(properties, "properties", QR_DRAFT_4, QR_DRAFT_2020)                                         \
    X(property_names, "propertyNames", QR_DRAFT_6, QR_DRAFT_2020)                                  \
    X(required, "required", QR_DRAFT_4, QR_DRAFT_2020)                                             \
    X(then, "then", QR_DRAFT_7, QR_DRAFT_2020)                                                     \
    X(type, "type", QR_DRAFT_4, QR_DRAFT_2020)                                                     \
    X(unevaluated_items, "unevaluatedItems", QR_DRAFT_2019, QR_DRAFT_2020)                         \
    X(unevaluated_properties, "unevaluatedProperties", QR_DRAFT_2019, QR_DRAFT_2020)               \
    X(unique_items, "uniqueItems", QR_DRAFT_4, QR_DRAFT_2020)

/* The keywords of one schema; NULL = absent, or not a keyword of the draft. */
struct qr_keywords {
    const struct qr_json *schema;
#define QR_KEYWORD_MEMBER(member, name, first, last) const struct qr_json *member;
    QR_SCHEMA_KEYWORDS(QR_KEYWORD_MEMBER)
#undef QR_KEYWORD_MEMBER
};

/* False and a failure where `schema` is no object. In drafts up to 7 keywords beside $ref are left
 * out. */
bool qr_keywords_read(struct qr_schema *s, const struct qr_json *schema, struct qr_keywords *out);

/* A number of items, properties or characters; `absent` without the keyword, QR_UNLIMITED for
 * larger numbers. False and a failure where it is no integer >= 0. */
bool qr_keyword_count(struct qr_schema *s, const struct qr_json *schema, const char *name,
                      const struct qr_json *value, uint32_t absent, uint32_t *out);

#endif
