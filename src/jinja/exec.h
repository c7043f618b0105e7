/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h - execution of statements. */
#ifndef QR_JINJA_EXEC_H
#define QR_JINJA_EXEC_H
#include "jinja/types.h"

/* Executes a list of statements; output goes to j->out. */
quire_status qr_jinja_exec(struct qr_jinja *j, struct qr_jinja_scope *scope,
                           const struct qr_jinja_node *list);
/* Executes a list of statements and returns their output as a string. */
quire_status qr_jinja_capture(struct qr_jinja *j, struct qr_jinja_scope *scope,
                              const struct qr_jinja_node *list, struct qr_jinja_value *out);
/* loop(items) within a recursive loop: runs the loop over other items and returns its output. */
quire_status qr_jinja_call_loop(struct qr_jinja *j, struct qr_jinja_loop *loop,
                                const struct qr_jinja_args *args, struct qr_jinja_value *out);

#endif
