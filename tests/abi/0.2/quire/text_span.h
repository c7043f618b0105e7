/* SPDX-License-Identifier: Apache-2.0 */
/** Provenance of a byte range of a prompt: chat templates produce spans, tokenizers apply them. */
#ifndef QUIRE_TEXT_SPAN_H
#define QUIRE_TEXT_SPAN_H
#include <quire/status.h>

/** Bytes [offset, offset + size) of a text. */
struct quire_text_span {
    size_t offset, size;
    /** The bytes are user data (messages, tools, variables), not text of the template. No special
     *  token is recognized in them. */
    bool is_user_text;
};

#endif
