/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - arguments of calls: evaluation and typed access. */
#ifndef QR_JINJA_ARGS_H
#define QR_JINJA_ARGS_H
#include "jinja/types.h"

/* Evaluates a list of ARG nodes. */
quire_status qr_jinja_eval_args(struct qr_jinja *j, struct qr_jinja_scope *scope,
                                const struct qr_jinja_node *list, struct qr_jinja_args *out);
/* Type errors unless v is an integer (or bool) or a string. */
quire_status qr_jinja_expect_int(struct qr_jinja *j, struct qr_jinja_value v, int64_t *out);
quire_status qr_jinja_expect_str(struct qr_jinja *j, struct qr_jinja_value v,
                                 const struct qr_jinja_str **out);

#endif
