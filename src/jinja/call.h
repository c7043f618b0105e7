/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_call.h - evaluating, calling, and the tables of builtin functions. */
#ifndef QR_JINJA_CALL_H
#define QR_JINJA_CALL_H
#include "jinja/ast.h"
#include "jinja/text.h"

/* Arguments as the caller wrote them. Keyword names are strings. */
struct qr_j_args {
    size_t n_pos, n_kw;
    const struct qr_j_value *pos;
    const struct qr_j_value *kw_names, *kw_values;
};

/* What a builtin gets. */
struct qr_j_call {
    /* the filtered or tested value, the object of a method; MISSING for globals */
    struct qr_j_value self;
    struct qr_j_value a[QR_J_MAX_PARAMS]; /* by parameter; MISSING when not given */
    const struct qr_j_args *args;         /* all arguments, for those that take any number */
};

struct qr_j_builtin {
    const char *name;
    quire_status (*fn)(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out);
    const char *params; /* names with a blank between them; "*": anything goes */
    int required;       /* how many of them must be given */
};

struct qr_j_scope {
    struct qr_j_scope *parent; /* NULL: the outermost, that of the template */
    struct qr_j_dict vars;
};

struct qr_j_macro {
    struct qr_j_value name; /* MISSING for the caller of a call block */
    const struct qr_j_node *node;
    struct qr_j_scope *scope; /* where it was defined */
};

/* The variable `loop`. */
struct qr_j_loop {
    const struct qr_j_node *node;
    struct qr_j_scope *scope; /* around the loop, for recursion */
    size_t index0, n, depth0;
    const struct qr_j_value *items;
    struct qr_j_value changed; /* last arguments of loop.changed as a tuple; MISSING before */
};

/* --- tables --- */
const struct qr_j_builtin *qr_j_filter_find(
    const struct qr_j_str *name); /* NULL if there is none */
const struct qr_j_builtin *qr_j_test_find(const struct qr_j_str *name);
const struct qr_j_builtin *qr_j_global_find(const struct qr_j_str *name);
/* The method of this name that values of v's type have. *unsafe: it exists but would change v. */
const struct qr_j_builtin *qr_j_method_find(struct qr_j_value v, const struct qr_j_str *name,
                                            bool *unsafe);
const struct qr_j_builtin *qr_j_table_find(const struct qr_j_builtin *table, size_t n,
                                           const struct qr_j_str *name);
/* Parts of the filter and method tables; *n is how many. */
const struct qr_j_builtin *qr_j_filters_text(size_t *n);
const struct qr_j_builtin *qr_j_filters_list(size_t *n);
const struct qr_j_builtin *qr_j_filters_select(size_t *n);
const struct qr_j_builtin *qr_j_filters_number(size_t *n);
const struct qr_j_builtin *qr_j_methods_text(size_t *n);
const struct qr_j_builtin *qr_j_methods_cut(size_t *n);

/* --- calling --- */
quire_status qr_j_call_value(struct qr_j *j, struct qr_j_value callee, const struct qr_j_args *args,
                             struct qr_j_value *out);
quire_status qr_j_call_builtin(struct qr_j *j, const struct qr_j_builtin *fn,
                               struct qr_j_value self, const struct qr_j_args *args,
                               struct qr_j_value *out);
/* A filter or test by the name in `name`; `kind` is what to call it in the message. */
quire_status qr_j_call_named(struct qr_j *j, bool is_filter, struct qr_j_value name,
                             struct qr_j_value self, const struct qr_j_args *args,
                             struct qr_j_value *out);
quire_status qr_j_no_such(struct qr_j *j, bool is_filter, struct qr_j_value name);
quire_status qr_j_call_macro(struct qr_j *j, const struct qr_j_macro *m,
                             const struct qr_j_args *args, struct qr_j_value *out);
quire_status qr_j_call_loop(struct qr_j *j, struct qr_j_loop *loop, const struct qr_j_args *args,
                            struct qr_j_value *out);

/* --- typed access to arguments; `what` names the function in messages --- */
quire_status qr_j_want_int(struct qr_j *j, struct qr_j_value v, int64_t *out);
quire_status qr_j_want_str(struct qr_j *j, struct qr_j_value v, const struct qr_j_str **out);
static inline bool qr_j_given(struct qr_j_value v) { return v.type != QR_J_MISSING; }

/* --- evaluating --- */
quire_status qr_j_eval(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *n,
                       struct qr_j_value *out);
/* Evaluates a list of ARG nodes. */
quire_status qr_j_eval_args(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list,
                            struct qr_j_args *out);
quire_status qr_j_exec(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list);
/* Runs statements and returns what they print. */
quire_status qr_j_capture(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *list,
                          struct qr_j_value *out);
quire_status qr_j_scope_new(struct qr_j *j, struct qr_j_scope *parent, struct qr_j_scope **out);
quire_status qr_j_assign(struct qr_j *j, struct qr_j_scope *scope, const struct qr_j_node *target,
                         struct qr_j_value v);
/* Binary operator: one of + - * / % or QR_J_OP_FLOORDIV, QR_J_OP_POW. */
quire_status qr_j_binary(struct qr_j *j, int op, struct qr_j_value a, struct qr_j_value b,
                         struct qr_j_value *out);
quire_status qr_j_negate(struct qr_j *j, struct qr_j_value v, struct qr_j_value *out);
/* obj.name: an attribute, else an item, else undefined. */
quire_status qr_j_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                       struct qr_j_value *out);
/* obj[key]: an item, else an attribute, else undefined. */
quire_status qr_j_item(struct qr_j *j, struct qr_j_value obj, struct qr_j_value key,
                       struct qr_j_value *out);
/* obj.name without falling back to items; *found tells whether it exists. */
quire_status qr_j_own_attr(struct qr_j *j, struct qr_j_value obj, struct qr_j_value name,
                           bool *found, struct qr_j_value *out);
/* obj[start:stop:step]; MISSING or none for parts that are not given. */
quire_status qr_j_slice(struct qr_j *j, struct qr_j_value obj, const struct qr_j_value part[3],
                        struct qr_j_value *out);
/* The attribute path of map, sort and the like: "a.b.0", an integer, or none for the value
 * itself. */
quire_status qr_j_attr_path(struct qr_j *j, struct qr_j_value obj, struct qr_j_value path,
                            struct qr_j_value fallback, struct qr_j_value *out);

/* --- pieces that filters, methods and operators share --- */
enum qr_j_case {
    QR_J_LOWER,
    QR_J_UPPER,
    QR_J_CAPITALIZE,
    QR_J_TITLE,
    QR_J_SWAPCASE,
    QR_J_CASEFOLD
};
quire_status qr_j_change_case(struct qr_j *j, const struct qr_j_str *s, enum qr_j_case how,
                              struct qr_j_value *out);
enum { QR_J_STRIP_LEFT = 1, QR_J_STRIP_RIGHT = 2 };
/* chars: a string, or MISSING or none for white space. */
quire_status qr_j_strip(struct qr_j *j, const struct qr_j_str *s, struct qr_j_value chars,
                        int sides, struct qr_j_value *out);
quire_status qr_j_replace(struct qr_j *j, const struct qr_j_str *s, const struct qr_j_str *old,
                          const struct qr_j_str *new_, int64_t count, struct qr_j_value *out);
quire_status qr_j_split_lines(struct qr_j *j, const struct qr_j_str *s, bool keep_ends,
                              struct qr_j_list **out);
enum qr_j_align { QR_J_ALIGN_LEFT, QR_J_ALIGN_RIGHT, QR_J_ALIGN_CENTER };
/* fill: a string of one character, or NULL for a blank. */
quire_status qr_j_pad(struct qr_j *j, const struct qr_j_str *s, int64_t width,
                      const struct qr_j_str *fill, enum qr_j_align align, struct qr_j_value *out);
quire_status qr_j_repeat(struct qr_j *j, const struct qr_j_str *s, int64_t times,
                         struct qr_j_value *out);
/* Stable sort of items[n] by keys[n] (compared like Python does); both are permuted. */
quire_status qr_j_sort(struct qr_j *j, struct qr_j_value *items, struct qr_j_value *keys, size_t n,
                       bool reverse);
/* "%d apples" % values. */
quire_status qr_j_percent_format(struct qr_j *j, const struct qr_j_str *fmt,
                                 struct qr_j_value values, struct qr_j_value *out);
/* "{} apples".format(...). */
quire_status qr_j_brace_format(struct qr_j *j, const struct qr_j_str *fmt,
                               const struct qr_j_args *args, struct qr_j_value *out);
/* json.dumps; indent: MISSING or none for one line. */
struct qr_j_json_style {
    struct qr_j_value indent, item_sep, key_sep;
    bool ascii, sort_keys;
};
quire_status qr_j_to_json(struct qr_j *j, struct qr_j_value v, const struct qr_j_json_style *style,
                          struct qr_j_value *out);
/* Text as a float or an int, with sign, blanks around it and underscores as Python allows; *ok:
 * it is one. */
quire_status qr_j_str_to_double(struct qr_j *j, const struct qr_j_str *s, bool *ok, double *out);
quire_status qr_j_str_to_int(struct qr_j *j, const struct qr_j_str *s, int64_t base, bool *ok,
                             int64_t *out);
/* Truncates; fails when it does not fit 64 bits. */
quire_status qr_j_double_to_int(struct qr_j *j, double f, int64_t *out);
quire_status qr_j_strftime(struct qr_j *j, const struct qr_j_str *fmt, const struct tm *tm,
                           struct qr_j_value *out);

#endif
