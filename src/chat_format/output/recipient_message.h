/* SPDX-License-Identifier: Apache-2.0 */
/* recipient_message.h - messages whose header names a recipient: Muse Glimmer. */
#ifndef QR_CHAT_FORMAT_OUTPUT_RECIPIENT_MESSAGE_H
#define QR_CHAT_FORMAT_OUTPUT_RECIPIENT_MESSAGE_H
#include "chat_format/output/parser.h"

/* A header: [<|start|>ROLE][ to=RECIPIENT]<|message|>. The recipient "self" means reasoning, "user"
 * or none content; other messages hold calls, and calls elsewhere are text. */
enum qr_step qr_recipient_header(struct quire_chat_output *o);
/* The body of a message without calls, up to one of the format's `skip` or, as a control token,
 * <|start|>. */
enum qr_step qr_recipient_body(struct quire_chat_output *o);

#endif
