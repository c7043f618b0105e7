/* SPDX-License-Identifier: Apache-2.0 */
/* template_context.h - variables that a chat template is rendered with. */
#ifndef QR_CHAT_FORMAT_TEMPLATE_CONTEXT_H
#define QR_CHAT_FORMAT_TEMPLATE_CONTEXT_H
#include "jinja/types.h"
#include <quire/chat_template.h>

/* Defines messages, tools, special tokens and the other variables of `in`. */
quire_status qr_chat_define_variables(struct qr_jinja *j, const struct quire_chat_render_args *in,
                                      struct qr_jinja_dict *vars);

#endif
