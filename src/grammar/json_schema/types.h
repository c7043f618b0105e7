/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - types that the files of the JSON Schema compiler share.
 *
 * A schema is compiled in four steps:
 *  1. document.c finds resources, anchors and references;
 *  2. expressions (expr.h) name sets of values: a subschema, a constant, AND, OR, NOT of others.
 *     normalize.c turns an expression into a value set, on demand and once: for each JSON type, the
 *     values that are allowed. The members of objects and arrays stay expressions, so recursive
 *     schemas need no expansion;
 *  3. reach.c collects the expressions that the root needs and finds those that some value
 *     satisfies;
 *  4. emit.c builds the nodes of the grammar. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_TYPES_H
#define QR_GRAMMAR_JSON_SCHEMA_TYPES_H
#include "base/alloc.h"
#include "grammar/core/front_end.h"
#include "grammar/json_schema/notation.h"
#include "json/json.h"

/* An expression; equal expressions have equal ids (expr.h). */
typedef uint32_t qr_expr;
enum { QR_EXPR_NONE = 0, QR_EXPR_ALL = 1 };

enum {
    QR_SCHEMA_MAX_DEPTH = 48,          /* of references and applicators that are inlined */
    QR_SCHEMA_MAX_ALTERNATIVES = 1024, /* of one type in a value set */
    QR_SCHEMA_MAX_EXPRS = 1 << 19,
    QR_SCHEMA_MAX_STATES = 4096, /* of an automaton that is explored to compare expressions */
};
/* Functions of a recursion that must not share a frame: with one frame for all branches each level
 * would take several times the stack. */
#define QR_OWN_FRAME __attribute__((noinline))
#define QR_UNLIMITED UINT32_MAX /* number of items, properties, characters */

/* ---- Value sets */

/* digits * 10^exponent, without leading and trailing zeros; zero has no digits. */
struct qr_decimal {
    bool negative;
    uint32_t n;         /* digits */
    const char *digits; /* '0' .. '9', not terminated; in the document or the arena */
    int64_t exponent;
};

struct qr_multiple {
    struct qr_decimal of;
    bool negated; /* the value is no multiple */
};

enum qr_integrality { QR_ANY_NUMBER, QR_INTEGER, QR_FRACTIONAL };

/* The numbers between two bounds with further properties. */
struct qr_number_alt {
    const struct qr_decimal *low, *high; /* NULL = unbounded */
    bool low_open, high_open;            /* the bound itself is excluded */
    enum qr_integrality integrality;
    const struct qr_multiple *multiples;
    uint32_t n_multiples;
};

struct qr_property {
    uint32_t key; /* id of the key (keys.h) */
    qr_expr value;
    bool required;
};

/* The keys that an expression over the contents of JSON strings matches. */
struct qr_key_region {
    qr_regex keys;
    qr_expr value;
};

/* The objects with min .. max members, where the value of each property is in its set, the keys
 * that are no properties are in one of the regions, which are disjoint, and their values in its
 * set; and that have, for each of `exists`, a key that it matches. */
struct qr_object_alt {
    const struct qr_property *properties;
    const struct qr_key_region *regions;
    const qr_regex *exists;
    uint32_t n_properties, n_regions, n_exists;
    uint32_t min, max;
    qr_regex evaluated; /* keys that unevaluatedProperties leaves alone; QR_REGEX_NONE by default */
};

/* min .. max of the items from position `from` on are in a set. */
struct qr_contains {
    qr_expr item;
    uint32_t from, min, max;
    const struct qr_json *at; /* the schema with the keyword */
};

/* The arrays of min .. max items, where items 0 .. n_prefix - 1 are in their sets and the others in
 * `rest`. */
struct qr_array_alt {
    const qr_expr *prefix;
    const struct qr_contains *contains;
    uint32_t n_prefix, n_contains;
    qr_expr rest;
    uint32_t min, max;
    const struct qr_json *unique; /* the schema with uniqueItems; NULL = none */
    uint32_t evaluated; /* leading items that unevaluatedItems leaves alone, QR_UNLIMITED = all */
};

enum {
    QR_TYPE_NULL = 1,
    QR_TYPE_FALSE = 2,
    QR_TYPE_TRUE = 4,
    QR_TYPE_NUMBER = 8,
    QR_TYPE_STRING = 16,
    QR_TYPE_ARRAY = 32,
    QR_TYPE_OBJECT = 64,
    QR_TYPE_BOOLEAN = QR_TYPE_FALSE | QR_TYPE_TRUE,
    QR_TYPE_SCALAR = QR_TYPE_NULL | QR_TYPE_BOOLEAN,
    QR_TYPE_ALL = 127,
};

/* A set of JSON values: the union of its alternatives. */
struct qr_value_set {
    uint32_t scalars; /* QR_TYPE_NULL, _FALSE, _TRUE */
    /* contents of JSON strings; QR_REGEX_ANY stands for all of them, otherwise only such contents
     * match */
    qr_regex strings;
    qr_regex raw; /* the same strings as UTF-8 without escapes; only if qr_schema.with_raw */
    const struct qr_number_alt *numbers;
    const struct qr_array_alt *arrays;
    const struct qr_object_alt *objects;
    uint32_t n_numbers, n_arrays, n_objects;
};

/* ---- Context of a compilation */

enum qr_draft { QR_DRAFT_4 = 4, QR_DRAFT_6 = 6, QR_DRAFT_7 = 7, QR_DRAFT_2019, QR_DRAFT_2020 };

/* A failure at a value of the document. */
struct qr_schema_failure {
    quire_status status;
    const struct qr_json *at; /* the schema; NULL = the whole document */
    const char *keyword;      /* within `at`; NULL = the schema itself */
    const char *text;         /* static or in the arena */
    bool of_context;          /* caused by what is being computed, not by the expression alone */
};

struct qr_expr_table;
struct qr_key_table;
struct qr_schema_document;

/* Not thread-safe; lives for one compilation. */
struct qr_schema {
    struct qr_front_end *f;
    struct qr_regex_set *regexes;
    const struct qr_notation *notation;
    struct qr_arena arena;
    struct qr_schema_document *document;
    struct qr_expr_table *exprs;
    struct qr_key_table *keys;
    struct qr_schema_failure failure; /* status QUIRE_OK = none */
    int depth;                        /* of inlined references and applicators */
    int probing;                      /* nested qr_expr_is_none */
    bool with_raw;                    /* the notation has raw strings */
    bool track_evaluated;             /* the document has unevaluatedProperties or -Items */
    qr_regex any_string;              /* contents of any JSON string */
    qr_regex any_raw;                 /* UTF-8 */
};

#endif
