/* SPDX-License-Identifier: Apache-2.0 */
/* harmony_message.h - messages of the Harmony format: headers with channel and recipient. */
#ifndef QR_CHAT_FORMAT_OUTPUT_HARMONY_MESSAGE_H
#define QR_CHAT_FORMAT_OUTPUT_HARMONY_MESSAGE_H
#include "chat_format/output/parser.h"

/* A header: [<|start|>ROLE][ to=RECIPIENT]<|channel|>CHANNEL[ to=RECIPIENT][ <|constrain|>TYPE]
 * <|message|>. A call is a message to functions.NAME, or to a tool on offer. */
enum qr_step qr_harmony_header(struct quire_chat_output *o);
/* The body of a message, up to <|end|>, <|call|>, <|return|> or the next header. */
enum qr_step qr_harmony_body(struct quire_chat_output *o);

#endif
