/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - types shared by the files of the Jinja interpreter: values, builtins, scopes, state.
 *
 * All values live in the arena of the interpreter state and are freed together. All strings are
 * valid UTF-8: input is checked, and every operation preserves validity. The number of characters
 * of a string is therefore its number of bytes that are not continuation bytes.
 *
 * Strings carry taint at byte granularity: a byte is tainted if it comes from the caller's data,
 * and untainted if it comes from the template. Taint follows the bytes through every operation. */
#ifndef QR_JINJA_TYPES_H
#define QR_JINJA_TYPES_H
#include "base/alloc.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
    QR_JINJA_MAX_NESTING = 128,     /* of blocks and brackets in the source of a template */
    QR_JINJA_MAX_EVAL_DEPTH = 1000, /* recursion of the evaluator, in calls; bounds the C stack */
    QR_JINJA_MAX_PARAMS = 6         /* of a builtin */
};

/* Operators of two characters and word operators; other operators are their own character. */
enum qr_jinja_op {
    QR_JINJA_OP_EQ = 128,
    QR_JINJA_OP_NE,
    QR_JINJA_OP_LE,
    QR_JINJA_OP_GE,
    QR_JINJA_OP_POW,
    QR_JINJA_OP_FLOORDIV,
    QR_JINJA_OP_IN,
    QR_JINJA_OP_NOT_IN
};

/* --- values --- */
enum qr_jinja_type {
    QR_JINJA_MISSING, /* an argument that was not given; never visible to a template */
    QR_JINJA_UNDEFINED,
    QR_JINJA_NONE,
    QR_JINJA_BOOL,
    QR_JINJA_INT,
    QR_JINJA_FLOAT,
    QR_JINJA_STR,
    QR_JINJA_LIST, /* every ordered collection; see enum qr_jinja_list_kind */
    QR_JINJA_DICT,
    QR_JINJA_RANGE,
    QR_JINJA_NAMESPACE,
    QR_JINJA_FUNCTION, /* a builtin global function */
    QR_JINJA_METHOD,   /* a builtin bound to an object */
    QR_JINJA_MACRO,
    QR_JINJA_LOOP,
    QR_JINJA_CYCLER,
    QR_JINJA_JOINER
};

struct qr_jinja_value {
    enum qr_jinja_type type;
    union {
        bool b;
        int64_t i;
        double f;
        const struct qr_jinja_str *s;
        struct qr_jinja_list *l;
        struct qr_jinja_dict *d; /* of a dict or a namespace */
        const struct qr_jinja_range *r;
        const struct qr_jinja_undef *u;
        const struct qr_jinja_builtin *fn;
        const struct qr_jinja_method *m;
        const struct qr_jinja_macro *macro;
        struct qr_jinja_loop *loop;
        struct qr_jinja_cycler *cycler;
        struct qr_jinja_joiner *joiner;
    };
};

/* An immutable string. Substrings share the bytes and the taint of their source. */
struct qr_jinja_str {
    const char *p;
    size_t n;             /* bytes */
    const uint8_t *taint; /* per byte, 1 = tainted; NULL: all bytes are as `tainted` says */
    /* The builder whose whole contents this string is, so that `s + x` can append in place; or
     * NULL. */
    struct qr_jinja_sb *builder;
    bool tainted; /* meaningful while taint is NULL */
    bool safe;    /* HTML-safe: result of |safe or |escape (markupsafe's Markup) */
};

enum qr_jinja_list_kind {
    QR_JINJA_LIST_PLAIN,
    QR_JINJA_LIST_TUPLE,
    QR_JINJA_LIST_GROUP, /* pair made by groupby: a tuple with the attributes grouper and list */
    QR_JINJA_LIST_KEYS,
    QR_JINJA_LIST_VALUES,
    QR_JINJA_LIST_ITEMS,
    /* Result of map, select, ...: is iterated once, is always true, has no length. */
    QR_JINJA_LIST_GENERATOR
};

struct qr_jinja_list {
    enum qr_jinja_list_kind kind;
    size_t n;
    struct qr_jinja_value *items;
    size_t consumed; /* generator: number of items already yielded */
};

struct qr_jinja_entry {
    struct qr_jinja_value key, value;
    uint64_t hash;
};

/* Insertion-ordered hash table with open addressing. Entries are never removed. */
struct qr_jinja_dict {
    struct qr_jinja_entry *entries;
    size_t n, cap;
    uint32_t *index; /* entry number + 1, 0 = empty; NULL for a small dict */
    size_t n_index;  /* a power of two, or 0 */
    /* What printing and joining with a string give; NULL: as Python does. Arguments of a tool call
     * that the caller gave as JSON text (chat_format/tool_arguments.h) */
    const struct qr_jinja_str *text;
};

struct qr_jinja_range {
    int64_t start, stop, step, n;
};

/* Why a value is undefined. The message is formatted only when the value is used wrongly. */
struct qr_jinja_undef {
    const char *hint;          /* the whole message, or NULL: made from the other fields */
    struct qr_jinja_value obj; /* the object that lacks `name`; MISSING: name is a variable */
    struct qr_jinja_value name;
    bool unsafe; /* the attribute exists, but the sandbox forbids it (list.append, ...) */
};

struct qr_jinja_method {
    struct qr_jinja_value self;
    const struct qr_jinja_builtin *fn;
};

struct qr_jinja_cycler {
    size_t n, pos;
    const struct qr_jinja_value *items;
};

struct qr_jinja_joiner {
    struct qr_jinja_value sep;
    bool used;
};

/* --- calls --- */
/* Evaluated arguments of a call. Keyword names are strings. */
struct qr_jinja_args {
    size_t n_pos, n_kw;
    const struct qr_jinja_value *pos;
    const struct qr_jinja_value *kw_names, *kw_values;
};

/* Arguments of a builtin, bound to its parameters. */
struct qr_jinja_call {
    /* The filtered or tested value, or the object of a method; MISSING for global functions. */
    struct qr_jinja_value self;
    struct qr_jinja_value arg[QR_JINJA_MAX_PARAMS]; /* by parameter; MISSING when not given */
    const struct qr_jinja_args *args;               /* all arguments, for variadic builtins */
};

struct qr_jinja;

/* A filter, test, method or global function. */
struct qr_jinja_builtin {
    const char *name;
    quire_status (*fn)(struct qr_jinja *j, const struct qr_jinja_call *c,
                       struct qr_jinja_value *out);
    const char *params; /* parameter names separated by blanks; "*": variadic, not bound */
    int required;       /* number of leading parameters without a default */
};

/* --- variables --- */
struct qr_jinja_scope {
    struct qr_jinja_scope *parent; /* NULL: the scope of the template */
    struct qr_jinja_dict vars;
};

/* A closure over the scope of its definition. */
struct qr_jinja_macro {
    struct qr_jinja_value name; /* MISSING for the caller of a call block */
    const struct qr_jinja_node *node;
    struct qr_jinja_scope *scope;
};

/* The variable `loop`. */
struct qr_jinja_loop {
    const struct qr_jinja_node *node;
    struct qr_jinja_scope *scope; /* around the loop, for recursive calls */
    size_t index0, n, depth0;
    const struct qr_jinja_value *items;
    struct qr_jinja_value changed; /* last arguments of loop.changed as a tuple, or MISSING */
};

/* --- interpreter state --- */
/* State of one parse or one render. Zero-initialize, then set the arena, err and the budgets. */
struct qr_jinja {
    struct qr_arena arena;
    struct quire_error *err;
    quire_status status; /* of the last failure */
    const char *source;  /* text of the template, for line numbers */
    size_t source_len;
    size_t pos;                              /* current byte offset in source */
    size_t steps_left;                       /* step budget */
    size_t max_bytes;                        /* of each string and of the output */
    unsigned depth;                          /* recursion of the evaluator */
    void (*now)(void *user, struct tm *out); /* clock of strftime_now */
    void *now_user;
    struct qr_jinja_sb *out; /* output of the template, or of the macro or block being captured */
    struct qr_jinja_value filter_input; /* input of the first filter of a block */
    enum { QR_JINJA_FLOW_NORMAL, QR_JINJA_FLOW_BREAK, QR_JINJA_FLOW_CONTINUE } flow;
};

#endif
