/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h - calls of builtins: tables and binding of arguments. */
#ifndef QR_JINJA_BUILTIN_H
#define QR_JINJA_BUILTIN_H
#include "jinja/types.h"

/* Looks a builtin up in a table of n. Returns NULL if there is none. */
const struct qr_jinja_builtin *qr_jinja_builtin_find(const struct qr_jinja_builtin *table, size_t n,
                                                     const struct qr_jinja_str *name);
/* Binds args to the parameters of fn and calls it. */
quire_status qr_jinja_call_builtin(struct qr_jinja *j, const struct qr_jinja_builtin *fn,
                                   struct qr_jinja_value self, const struct qr_jinja_args *args,
                                   struct qr_jinja_value *out);
/* Same for a filter (is_filter) or test given by name. */
quire_status qr_jinja_call_by_name(struct qr_jinja *j, bool is_filter, struct qr_jinja_value name,
                                   struct qr_jinja_value self, const struct qr_jinja_args *args,
                                   struct qr_jinja_value *out);
/* Fails: there is no such filter (is_filter) or test. */
quire_status qr_jinja_unknown_builtin(struct qr_jinja *j, bool is_filter,
                                      struct qr_jinja_value name);

#endif
