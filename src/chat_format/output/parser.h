/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - the state of a parser, shared by the machine and the readers of calls. */
#ifndef QR_CHAT_FORMAT_OUTPUT_PARSER_H
#define QR_CHAT_FORMAT_OUTPUT_PARSER_H
#include "base/handle.h"
#include "chat_format/output/bytes.h"
#include "chat_format/output/formats/format.h"
#include "chat_format/output/json_scan.h"
#include "chat_format/output/tools.h"

/* What a marker found in the text means. */
enum qr_marker_action {
    QR_MARK_THINK_OPEN,
    QR_MARK_THINK_CLOSE,
    QR_MARK_SKIP,
    QR_MARK_SECTION_OPEN,
    QR_MARK_SECTION_CLOSE,
    QR_MARK_CALL_OPEN,
    QR_MARK_CALL_CLOSE,
    QR_MARK_BODY, /* not consumed */
    QR_MARK_END,  /* ends a name, value or message */
    QR_MARK_START,
};

enum { QR_MARKER_SET = 40 };

struct qr_marker {
    const char *text;
    uint8_t size, action;
};
struct qr_marker_set {
    unsigned n;
    struct qr_marker items[QR_MARKER_SET];
    uint64_t first[4]; /* bit c: a marker begins with byte c */
};

/* Result of a step of the machine or of a reader. */
enum qr_step {
    QR_STEP_MORE, /* the text at the cursor is not enough */
    QR_STEP_GO,   /* the state has changed */
    QR_STEP_DONE, /* reader: the call, or all calls of the body, are complete */
    QR_STEP_FAIL, /* reader: no call; nothing of it has been sent */
};

enum qr_output_state {
    QR_OUT_START,
    QR_OUT_CONTENT,
    QR_OUT_REASONING,
    QR_OUT_SECTION, /* inside a section, between calls */
    QR_OUT_CALL,    /* a reader is at work */
    QR_OUT_AFTER,   /* after a call: its closing marker */
    QR_OUT_DROP,    /* inside broken markup */
    QR_OUT_HEADER,  /* formats of messages: before <|message|> */
    QR_OUT_BODY,    /* formats of messages: inside one */
};

struct qr_output_call {
    struct qr_bytes name, id, arguments;
};

struct qr_output_event {
    enum quire_chat_delta_kind kind;
    uint32_t call;
    size_t at, size; /* of the text it belongs to */
};

/* State of a reader; all zeros at the start of a call. A reader consumes text at the cursor, which
 * stands before a character that is no white space when it begins. It returns QR_STEP_GO after
 * progress. At the end of the text (o->final) it never returns QR_STEP_MORE: the call is cut, or
 * fails. */
struct qr_reader {
    enum qr_step (*read)(struct quire_chat_output *o);
    uint8_t state, key, depth, wrapper;
    char stack[8];
    bool in_string, raw, has_arguments, lone;
    char quote;
    size_t scan;        /* from the cursor: searched already */
    size_t string_scan; /* the same of a JSON string */
    size_t parameters;
    struct qr_json_scan json;
    struct qr_value_types types;
};

struct quire_chat_output {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    const struct qr_output_format *format; /* NULL: all text is content */
    struct qr_tools tools;
    bool tools_given, calls_allowed, single_call, reasoning_none;
    uint64_t id_seed;
    size_t max_bytes, total_bytes;

    /* Input that is not decided. special[i]: 1 first byte of a control token, 2 others, 0 text */
    struct qr_bytes in, special;
    size_t at; /* cursor */
    bool final, finished, failed;
    quire_status status; /* of the first failure */

    enum qr_output_state state;
    struct qr_marker_set content_set, reasoning_set, section_set, end_set;
    bool prompt_opened;  /* the prompt opened the thinking block */
    bool after_close;    /* white space up to the next text is dropped */
    bool open_section;   /* closing markers are expected */
    bool section_marked; /* the section began with section_open */
    bool opener_special; /* the opening marker came as a control token */
    bool preamble_over, drop_text;
    bool reasoning_trim; /* at the start of a thinking block */
    bool message_is_reasoning, message_is_call, message_dropped; /* in formats of messages */
    struct qr_bytes space; /* white space of content or reasoning that may still be trimmed */
    size_t hold_scan;

    /* Markup that may still turn out to be text: from keep, NONE = there is none. */
    size_t keep, keep_marker; /* keep_marker: end of its opening marker */
    bool keep_body;           /* it began with a character of the call, not with a marker */
    bool keep_preamble;       /* text of the preamble precedes it */
    bool think_prefix;        /* literal_think_prefix may follow */

    struct qr_reader reader;
    struct qr_bytes value; /* scratch of readers */
    struct qr_bytes key;

    struct qr_bytes content, reasoning;
    struct qr_output_call *calls;
    size_t n_calls, calls_capacity;
    bool call_active;    /* the last call is not complete */
    bool call_announced; /* BEGIN was sent */
    bool call_dropped;   /* nothing of it is sent */
    bool call_guess;     /* the tool is guessed from the arguments */
    size_t n_finished;   /* calls that were sent completely */

    struct qr_output_event *events;
    size_t n_events, events_capacity, next_event;
    struct quire_chat_tool_call *message_calls;
    size_t message_calls_capacity;
};

#define QR_NONE SIZE_MAX

#endif
