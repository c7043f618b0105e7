/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h - evaluator of expressions. */
#ifndef QR_JINJA_EVAL_H
#define QR_JINJA_EVAL_H
#include "jinja/types.h"

quire_status qr_jinja_eval(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *n, struct qr_jinja_value *out);

#endif
