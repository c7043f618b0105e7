/* SPDX-License-Identifier: Apache-2.0 */
/* tool_grammar.h - the structural tag of constrained calls. */
#ifndef QR_CHAT_FORMAT_OUTPUT_TOOL_GRAMMAR_H
#define QR_CHAT_FORMAT_OUTPUT_TOOL_GRAMMAR_H
#include "chat_format/output/formats/format.h"
#include "chat_format/output/tag_writer.h"
#include "chat_format/output/tools.h"

struct qr_tool_grammar {
    struct qr_tag_writer w;
    const struct qr_output_format *format;
    const struct qr_tools *tools;
    const struct qr_tool *only;     /* NAMED: the tool; NULL: all */
    const struct qr_json *response; /* schema of the content; NULL: any text */
    enum quire_tool_choice tool_choice;
    bool single, thinking_open, no_thinking;
};

/* Writes the structural tag to g->w.out.
 *   [thinking] body, where body is calls, content, or one of both
 * QUIRE_E_UNSUPPORTED, with a message that names the format or the tool; QUIRE_E_NOMEM. */
quire_status qr_tool_grammar_write(struct qr_tool_grammar *g, struct quire_error *err);

#endif
