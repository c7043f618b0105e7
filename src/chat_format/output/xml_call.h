/* SPDX-License-Identifier: Apache-2.0 */
/* xml_call.h - calls written as elements: QR_CALLS_XML. */
#ifndef QR_CHAT_FORMAT_OUTPUT_XML_CALL_H
#define QR_CHAT_FORMAT_OUTPUT_XML_CALL_H
#include "chat_format/output/parser.h"

/* A reader (parser.h). */
enum qr_step qr_read_xml_call(struct quire_chat_output *o);

#endif
