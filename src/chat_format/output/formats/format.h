/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the description of an output format. Data only: machine.h interprets it. */
#ifndef QR_CHAT_FORMAT_OUTPUT_FORMATS_FORMAT_H
#define QR_CHAT_FORMAT_OUTPUT_FORMATS_FORMAT_H
#include <quire/chat_output.h>

/* How a call is written. */
enum qr_call_notation {
    QR_CALLS_NONE,
    QR_CALLS_JSON,   /* an object with name and arguments, or an array of such objects */
    QR_CALLS_NAMED,  /* the name, then the arguments as a JSON object */
    QR_CALLS_XML,    /* the name, then one element per parameter */
    QR_CALLS_PYTHON, /* f(a=1, b='x') */
    QR_CALLS_GEMMA,  /* call:f{a:1,b:<|"|>x<|"|>} */
};

enum qr_output_flag {
    /* Content */
    QR_FORMAT_TRIM_CONTENT = 1 << 0,     /* content loses white space before calls */
    QR_FORMAT_KEEP_SPACE = 1 << 1,       /* white space around calls and reasoning is text */
    QR_FORMAT_DROP_AFTER_CALLS = 1 << 2, /* text after a call is dropped */
    /* Reasoning */
    QR_FORMAT_THINK_ANYWHERE = 1 << 3,       /* also after content */
    QR_FORMAT_KEEP_REPEATED_OPENER = 1 << 4, /* if the prompt has opened the block already */
    QR_FORMAT_DROP_STRAY_CLOSE = 1 << 5,     /* closing markers without a block */
    /* calls inside a block that is never closed are calls: text from the opening marker of a call
     * to the closing marker of the block or the end is held */
    QR_FORMAT_CALLS_END_THINKING = 1 << 6,
    /* Calls */
    QR_FORMAT_HOLD_CALL = 1 << 7,       /* sent when it is complete, because it may still fail */
    QR_FORMAT_NEEDS_ARGUMENTS = 1 << 8, /* an object without arguments is content */
    QR_FORMAT_NEEDS_CLOSE = 1 << 9,     /* a call without its closing marker is none */
    /* the opening marker of a call may be missing inside a section */
    QR_FORMAT_CALL_OPEN_OPTIONAL = 1 << 10,
    /* the text begins with NAME and a line end: the prompt holds the marker */
    QR_FORMAT_STARTS_WITH_NAME = 1 << 11,
    QR_FORMAT_HARMONY = 1 << 12,    /* messages with channels: harmony_message.h */
    QR_FORMAT_CODE = 1 << 13,       /* raw code for a tool named python instead of arguments */
    QR_FORMAT_RECIPIENTS = 1 << 14, /* messages with recipients: recipient_message.h */
};

/* What becomes of markup that holds no call. */
enum qr_on_failure {
    QR_FAILURE_IS_CONTENT,   /* all of it is content, with its markers */
    QR_FAILURE_LOSES_MARKER, /* the text after the opening marker is content */
    QR_FAILURE_IS_DROPPED,   /* up to the closing marker, the next call, or the end */
};

enum { QR_FORMAT_MARKERS = 6 };
/* Up to QR_FORMAT_MARKERS texts; unused ones are NULL. */
typedef const char *qr_marker_list[QR_FORMAT_MARKERS];

/* Keys of QR_CALLS_JSON; NULL: the common ones. */
struct qr_json_call {
    qr_marker_list id; /* keys of the id; without any the text has no ids */
    bool id_last;      /* the id may follow the arguments: they wait for it */
    bool key_is_name;  /* {"NAME": {arguments}} */
    bool wrapped;      /* {"tool_calls": [...]} and {"response": "..."} */
};

struct qr_named_call {
    const char *name_prefix; /* an optional text before the name */
    qr_marker_list name_end; /* "{" is not consumed: it begins the arguments */
    const char *id_marker;   /* among name_end: an id follows, up to the next name_end */
    const char *arguments_open, *arguments_close; /* optional texts around the arguments */
    bool name_is_id;                              /* functions.NAME:N */
};

struct qr_xml_call {
    const char *prefix, *prefix_end; /* an optional text before the element, up to prefix_end */
    const char *invoke;              /* begins the element; NULL: call_open did */
    const char *name_end;            /* "\"": attributes up to > follow */
    bool doubled_name;               /* "x.x" is the tool x, unless there is one of that name */
    const char *parameter, *key_end; /* likewise */
    const char *value;               /* between key_end and the value, after white space, or NULL */
    const char *value_end;
    const char *close;      /* ends the element; NULL: call_close does */
    bool strip_newline;     /* the value stands on lines of its own, or inline */
    bool null_is_null;      /* "null" is null if the schema allows strings and null */
    bool unknown_is_string; /* values of parameters without a schema; default: by their look */
};

/* How constrained calls are written (tool_grammar.h): begin [call {separator call}] end, call =
 * open NAME middle ARGUMENTS close. QR_CALL_NUMBER in open or middle stands for the number of the
 * call, which the model writes, QR_CALL_NAME in middle for NAME. */
#define QR_CALL_NUMBER "\1"
#define QR_CALL_NAME   "\2"
struct qr_call_syntax {
    /* free text goes on until this; NULL: until the first call as far as its name */
    const char *trigger;
    const char *begin, *end, *open, *middle, *close, *separator;
    const char *notation; /* of the arguments: grammar/json_schema/notation.h; NULL: json */
    bool single;          /* no more than one call */
    bool doubled_name;    /* names without a dot are written x.x */
    /* markers around content where free text without them is none; NULL: free text */
    const char *content_open, *content_close;
    const char *think_open, *think_close; /* in place of those of the format */
};

struct qr_output_format {
    const char *name;
    uint32_t flags; /* QR_FORMAT_* */
    enum qr_on_failure on_failure;
    enum qr_call_notation notation;
    qr_marker_list think_open, think_close;
    qr_marker_list skip;                        /* markers in content that are no text */
    qr_marker_list section_open, section_close; /* around all calls */
    qr_marker_list call_open, call_close;
    qr_marker_list body_open;         /* first characters of a call without a marker */
    const char *literal_think_prefix; /* removed at the start of reasoning: Gemma's "thought\n" */
    /* Text before the first call on a line of up to this size is commentary on the call: it is
     * held, and dropped with all text around calls if one follows. */
    unsigned preamble_bytes;
    const struct qr_json_call *json;
    const struct qr_named_call *named;
    const struct qr_xml_call *xml;
    const char *gemma_quote; /* delimiter of strings */
    bool gemma_typed;        /* outer strings are typed by the schema or their look */
    /* A template belongs to the format if it has all of `marks`, or one of `any_mark`. */
    const char *marks[3];
    const char *any_mark[3];
    const struct qr_call_syntax *syntax; /* NULL: calls cannot be constrained */
};

#endif
