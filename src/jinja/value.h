/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_value.h - values of the Jinja interpreter, and the state shared by parser and renderer.
 *
 * Everything lives in one arena and is never freed piecewise. All text is valid UTF-8: that is
 * checked where text comes in and kept by every operation, so "number of characters" is "number
 * of bytes that are no continuation bytes". */
#ifndef QR_JINJA_VALUE_H
#define QR_JINJA_VALUE_H
#include "base/alloc.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    QR_J_MAX_NESTING = 128, /* of blocks and brackets in a template, and of values inside values */
    QR_J_MAX_EVAL_DEPTH = 1000, /* C recursion while rendering, in nodes; bounds the stack */
    QR_J_MAX_PARAMS = 6         /* of a builtin function */
};

enum qr_j_type {
    QR_J_MISSING, /* an argument that was not given; never seen by a template */
    QR_J_UNDEFINED,
    QR_J_NONE,
    QR_J_BOOL,
    QR_J_INT,
    QR_J_FLOAT,
    QR_J_STR,
    QR_J_LIST, /* every ordered collection; see enum qr_j_flavor */
    QR_J_DICT,
    QR_J_RANGE,
    QR_J_NAMESPACE,
    QR_J_FUNCTION, /* a builtin global */
    QR_J_METHOD,   /* a builtin bound to an object */
    QR_J_MACRO,
    QR_J_LOOP,
    QR_J_CYCLER,
    QR_J_JOINER
};

struct qr_j_value {
    enum qr_j_type type;
    union {
        bool b;
        int64_t i;
        double f;
        const struct qr_j_str *s;
        struct qr_j_list *l;
        struct qr_j_dict *d; /* also of a namespace */
        const struct qr_j_range *r;
        const struct qr_j_undef *u;
        const struct qr_j_builtin *fn;
        const struct qr_j_method *m;
        const struct qr_j_macro *macro;
        struct qr_j_loop *loop;
        struct qr_j_cycler *cycler;
        struct qr_j_joiner *joiner;
    };
};

/* A string and where each of its bytes came from: the caller's data (messages, tools, variables)
 * or the template. The mark travels with the bytes through every operation. */
struct qr_j_str {
    const char *p;
    size_t n;
    const uint8_t *mark; /* per byte, 1 = caller's data; NULL when all bytes are alike (`user`) */
    /* buffer whose whole contents this is, so that `s + x` can append; or NULL */
    struct qr_j_sb *grown;
    bool user;
    bool safe; /* came from |safe or |escape */
};

enum qr_j_flavor {
    QR_J_PLAIN,
    QR_J_TUPLE,
    QR_J_GROUP, /* pair made by groupby: a tuple with the attributes grouper and list */
    QR_J_KEYS,
    QR_J_VALUES,
    QR_J_ITEMS,
    QR_J_GENERATOR /* of map, select, ...: can be walked once, is always true, has no length */
};

struct qr_j_list {
    enum qr_j_flavor flavor;
    size_t n;
    struct qr_j_value *items;
    size_t taken; /* generator: how many items are consumed */
};

struct qr_j_entry {
    struct qr_j_value key, value;
    uint64_t hash;
};

/* Insertion-ordered; an index is built once there are more than a few entries. Nothing is ever
 * removed. */
struct qr_j_dict {
    struct qr_j_entry *entries;
    size_t n, cap;
    uint32_t *index; /* entry number + 1, 0 = empty; n_index is a power of two, or 0 */
    size_t n_index;
};

struct qr_j_range {
    int64_t start, stop, step, n;
};

/* Why a value is undefined; the message is composed only if it is used wrongly. */
struct qr_j_undef {
    const char *hint;      /* whole message, or NULL: composed of what follows */
    struct qr_j_value obj; /* MISSING: a variable; else the object that lacks `name` */
    struct qr_j_value name;
    bool unsafe; /* exists, but templates may not touch it (list.append, ...) */
};

struct qr_j_method {
    struct qr_j_value self;
    const struct qr_j_builtin *fn;
};

struct qr_j_cycler {
    size_t n, pos;
    const struct qr_j_value *items;
};

struct qr_j_joiner {
    struct qr_j_value sep;
    bool used;
};

/* State of one parse or one render. */
struct qr_j {
    struct qr_arena arena;
    struct quire_error *err;
    quire_status status; /* of the last failure */
    const char *source;  /* template text, for line numbers */
    size_t source_len;
    size_t pos; /* where in the source we are */
    size_t steps_left, max_bytes;
    unsigned depth;
    void (*now)(void *user, struct tm *out);
    void *now_user;
    struct qr_j_sb *out;    /* where output goes: the document, or what a macro or block captures */
    struct qr_j_value pipe; /* input of a filter that stands at the head of a block */
    enum { QR_J_RUN, QR_J_BREAK, QR_J_CONTINUE } flow;
};

/* --- core: failures, memory, budgets --- */
/* Records the failure with the current position and returns code. */
quire_status qr_j_fail(struct qr_j *j, quire_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));
/* What a wrong use of values is (Python's TypeError and the like). */
#define qr_j_type_error(j, ...) qr_j_fail((j), QUIRE_E_FORMAT, __VA_ARGS__)
/* Zeroed, from the arena; NULL after recording the failure in j->status. */
void *qr_j_alloc(struct qr_j *j, size_t n, size_t size);
#define QR_J_NEW(j, ptr, n)                                                                        \
    do {                                                                                           \
        (ptr) = qr_j_alloc((j), (n), sizeof *(ptr));                                               \
        if (!(ptr))                                                                                \
            return (j)->status;                                                                    \
    } while (0)
quire_status qr_j_out_of_steps(struct qr_j *j);
quire_status qr_j_too_deep(struct qr_j *j);

static inline quire_status qr_j_step(struct qr_j *j, size_t n)
{
    if (j->steps_left < n)
        return qr_j_out_of_steps(j);
    j->steps_left -= n;
    return QUIRE_OK;
}
/* Around every recursion, so that nothing a template or a value does can exhaust the C stack.
 * After a failure the depth is not restored: the render is over. */
static inline quire_status qr_j_enter(struct qr_j *j)
{
    return j->depth++ < QR_J_MAX_EVAL_DEPTH ? QUIRE_OK : qr_j_too_deep(j);
}
static inline void qr_j_leave(struct qr_j *j) { j->depth--; }
/* Work on n bytes of text: 256 bytes count as one step. */
static inline quire_status qr_j_work(struct qr_j *j, size_t n) { return qr_j_step(j, n >> 8); }

/* --- making values --- */
static inline struct qr_j_value qr_j_missing(void)
{
    return (struct qr_j_value){ .type = QR_J_MISSING };
}
static inline struct qr_j_value qr_j_none(void) { return (struct qr_j_value){ .type = QR_J_NONE }; }
static inline struct qr_j_value qr_j_bool(bool b)
{
    return (struct qr_j_value){ .type = QR_J_BOOL, .b = b };
}
static inline struct qr_j_value qr_j_int(int64_t i)
{
    return (struct qr_j_value){ .type = QR_J_INT, .i = i };
}
static inline struct qr_j_value qr_j_float(double f)
{
    return (struct qr_j_value){ .type = QR_J_FLOAT, .f = f };
}
static inline struct qr_j_value qr_j_str_value(const struct qr_j_str *s)
{
    return (struct qr_j_value){ .type = QR_J_STR, .s = s };
}
static inline struct qr_j_value qr_j_list_value(struct qr_j_list *l)
{
    return (struct qr_j_value){ .type = QR_J_LIST, .l = l };
}
static inline struct qr_j_value qr_j_dict_value(struct qr_j_dict *d)
{
    return (struct qr_j_value){ .type = QR_J_DICT, .d = d };
}
/* A string over borrowed bytes that outlive the render. */
quire_status qr_j_text(struct qr_j *j, const char *p, size_t n, bool user, struct qr_j_value *out);
quire_status qr_j_textz(struct qr_j *j, const char *literal, struct qr_j_value *out);
/* A list with room for n items, all of which the caller sets (l->n = n already). */
quire_status qr_j_list_new(struct qr_j *j, enum qr_j_flavor flavor, size_t n,
                           struct qr_j_list **out);
quire_status qr_j_pair(struct qr_j *j, struct qr_j_value a, struct qr_j_value b,
                       struct qr_j_value *out);
quire_status qr_j_undefined_name(struct qr_j *j, struct qr_j_value name, struct qr_j_value *out);
quire_status qr_j_undefined_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                                 struct qr_j_value *out);
quire_status qr_j_undefined_unsafe(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                                   struct qr_j_value *out);
quire_status qr_j_undefined_hint(struct qr_j *j, const char *hint, struct qr_j_value *out);
/* Fails with the message of an undefined value. */
quire_status qr_j_undefined_error(struct qr_j *j, struct qr_j_value undefined);

/* --- looking at values --- */
static inline bool qr_j_is_undefined(struct qr_j_value v) { return v.type == QR_J_UNDEFINED; }
static inline bool qr_j_is_intlike(struct qr_j_value v)
{
    return v.type == QR_J_INT || v.type == QR_J_BOOL;
}
static inline int64_t qr_j_intlike(struct qr_j_value v) { return v.type == QR_J_BOOL ? v.b : v.i; }
static inline bool qr_j_is_number(struct qr_j_value v)
{
    return qr_j_is_intlike(v) || v.type == QR_J_FLOAT;
}
static inline double qr_j_to_double(struct qr_j_value v)
{
    return v.type == QR_J_FLOAT ? v.f : (double)qr_j_intlike(v);
}
static inline bool qr_j_is_tuple(struct qr_j_value v)
{
    return v.type == QR_J_LIST && (v.l->flavor == QR_J_TUPLE || v.l->flavor == QR_J_GROUP);
}
static inline bool qr_j_is_plain_list(struct qr_j_value v)
{
    return v.type == QR_J_LIST && v.l->flavor == QR_J_PLAIN;
}
static inline bool qr_j_is_generator(struct qr_j_value v)
{
    return v.type == QR_J_LIST && v.l->flavor == QR_J_GENERATOR;
}
bool qr_j_str_is(const struct qr_j_str *s, const char *literal);
/* Name of the value's type as Python prints it. */
const char *qr_j_type_name(struct qr_j_value v);
bool qr_j_truth(struct qr_j_value v);
bool qr_j_is_callable(struct qr_j_value v);
quire_status qr_j_equal(struct qr_j *j, struct qr_j_value a, struct qr_j_value b, bool *out);
enum qr_j_order_op { QR_J_LT, QR_J_LE, QR_J_GT, QR_J_GE };
quire_status qr_j_order(struct qr_j *j, enum qr_j_order_op op, struct qr_j_value a,
                        struct qr_j_value b, bool *out);
quire_status qr_j_contains(struct qr_j *j, struct qr_j_value needle, struct qr_j_value hay,
                           bool *out);
quire_status qr_j_length(struct qr_j *j, struct qr_j_value v, int64_t *out);
bool qr_j_is_iterable(struct qr_j_value v);
/* The items that iterating over v yields, in *out (flavor PLAIN); consumes a generator. The items
 * may be shared with v and must not be changed. */
quire_status qr_j_items(struct qr_j *j, struct qr_j_value v, struct qr_j_list *out);
/* i * step alone may overflow although the member does not. */
static inline int64_t qr_j_range_at(const struct qr_j_range *r, int64_t i)
{
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}

/* --- dictionaries --- */
quire_status qr_j_hash(struct qr_j *j, struct qr_j_value key, uint64_t *out);
quire_status qr_j_dict_new(struct qr_j *j, struct qr_j_dict **out);
quire_status qr_j_dict_set(struct qr_j *j, struct qr_j_dict *d, struct qr_j_value key,
                           struct qr_j_value value);
/* *out points at the value inside d, or is NULL. */
quire_status qr_j_dict_find(struct qr_j *j, const struct qr_j_dict *d, struct qr_j_value key,
                            struct qr_j_value **out);
/* For looking one key up in several dictionaries. */
quire_status qr_j_dict_find_hashed(struct qr_j *j, const struct qr_j_dict *d, uint64_t hash,
                                   struct qr_j_value key, struct qr_j_value **out);
/* A key that is a string given by bytes. */
quire_status qr_j_dict_find_text(struct qr_j *j, const struct qr_j_dict *d, const char *key,
                                 size_t n, struct qr_j_value **out);

#endif
