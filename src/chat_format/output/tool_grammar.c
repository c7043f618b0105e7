/* SPDX-License-Identifier: Apache-2.0 */
/* tool_grammar.c - the structural tag of constrained calls. */
#include "chat_format/output/tool_grammar.h"
#include "base/error.h"
#include <string.h>

static const char *text_or_empty(const char *text) { return text ? text : ""; }

/* Names that need no escapes in any notation. */
static bool plain_name(const struct qr_tool *t)
{
    for (size_t i = 0; i < t->name_size; i++) {
        const char c = t->name[i], low = (char)(c | 32);
        if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') && !strchr("_.-", c))
            return false;
    }
    return true;
}

static bool selected(const struct qr_tool_grammar *g, size_t i)
{
    return !g->only || g->only == &g->tools->tools[i];
}

/* Appends the name of a tool as the format writes it. */
static bool append_name(struct qr_tool_grammar *g, struct qr_bytes *to, const struct qr_tool *t)
{
    const struct quire_allocator *const a = g->w.allocator;
    if (g->format->notation == QR_CALLS_JSON)
        return qr_bytes_append_escaped(a, to, t->name, t->name_size);
    const bool twice = g->format->syntax->doubled_name && !memchr(t->name, '.', t->name_size);
    return qr_bytes_append(a, to, t->name, t->name_size) &&
           (!twice ||
            (qr_bytes_append(a, to, ".", 1) && qr_bytes_append(a, to, t->name, t->name_size)));
}

/* Appends [before] open NAME middle of a call to `to`. */
static void call_head(struct qr_tool_grammar *g, struct qr_bytes *to, const char *before,
                      const struct qr_tool *t)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const struct quire_allocator *const a = g->w.allocator;
    const char *const middle = text_or_empty(s->middle);
    const size_t first = strcspn(middle, QR_CALL_NAME);
    const bool again = middle[first] != 0;
    to->size = 0;
    const bool ok =
        qr_bytes_append_text(a, to, before) &&
        qr_bytes_append_text(a, to, text_or_empty(s->open)) && append_name(g, to, t) &&
        qr_bytes_append(a, to, middle, first) &&
        (!again || (append_name(g, to, t) && qr_bytes_append_text(a, to, middle + first + 1)));
    g->w.nomem = g->w.nomem || !ok;
}

/* The arguments of a call. */
static void arguments(struct qr_tool_grammar *g, const struct qr_tool *t)
{
    const char *const notation = g->format->syntax->notation;
    qr_tag_text(&g->w, "{\"type\":\"json_schema\",\"json_schema\":");
    qr_tag_object_schema(&g->w, t->parameters); /* check_tools has tried it */
    if (notation) {
        qr_tag_text(&g->w, ",\"notation\":");
        qr_tag_string(&g->w, notation, strlen(notation));
    }
    qr_tag_text(&g->w, "}");
}

/* Calls without text between them, at least one. */
static void calls_list(struct qr_tool_grammar *g);

/* The end of a call and, if the calls follow the first as `rest`, those. */
static void call_tail(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const char *const close = text_or_empty(s->close), *const separator =
                                                           text_or_empty(s->separator);
    qr_tag_text(&g->w, ",");
    qr_tag_const(&g->w, close, strlen(close));
    if (!g->single) {
        qr_tag_text(&g->w, ",{\"type\":\"or\",\"elements\":[");
        qr_tag_const(&g->w, "", 0);
        qr_tag_text(&g->w, ",{\"type\":\"sequence\",\"elements\":[");
        qr_tag_const(&g->w, separator, strlen(separator));
        qr_tag_text(&g->w, ",");
        calls_list(g);
        qr_tag_text(&g->w, "]}]}");
    }
}

/* The tag of one call.
 *   before  text before it that belongs to the tag
 *   rest    further calls and the end of the section belong to the tag, too */
static void call_tag(struct qr_tool_grammar *g, const struct qr_tool *t, const char *before,
                     bool rest)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const char *const end = text_or_empty(rest ? s->end : s->close);
    struct qr_bytes head = { 0 };
    call_head(g, &head, before, t);
    const char *const number = head.size ? memchr(head.data, QR_CALL_NUMBER[0], head.size) : NULL;
    const size_t first = number ? (size_t)(number - head.data) : head.size;
    const bool sequence = number || rest;
    qr_tag_text(&g->w, "{\"type\":\"tag\",\"begin\":");
    qr_tag_string(&g->w, text_or_empty(head.data), first);
    qr_tag_text(&g->w, ",\"content\":");
    if (sequence)
        qr_tag_text(&g->w, "{\"type\":\"sequence\",\"elements\":[");
    if (number) {
        qr_tag_regex(&g->w, "[0-9]{1,3}");
        qr_tag_text(&g->w, ",");
        qr_tag_const(&g->w, number + 1, head.size - first - 1);
        qr_tag_text(&g->w, ",");
    }
    arguments(g, t);
    if (rest)
        call_tail(g);
    if (sequence)
        qr_tag_text(&g->w, "]}");
    qr_tag_text(&g->w, ",\"end\":");
    qr_tag_string(&g->w, end, strlen(end));
    qr_tag_text(&g->w, "}");
    qr_bytes_free(g->w.allocator, &head);
}

static void call_tags(struct qr_tool_grammar *g, const char *before, bool rest)
{
    bool first = true;
    qr_tag_text(&g->w, "\"tags\":[");
    for (size_t i = 0; i < g->tools->n; i++) {
        if (!selected(g, i))
            continue;
        if (!first)
            qr_tag_text(&g->w, ",");
        first = false;
        call_tag(g, &g->tools->tools[i], before, rest);
    }
    qr_tag_text(&g->w, "]");
}

static void calls_list(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const char *const separator = text_or_empty(s->separator);
    qr_tag_text(&g->w, "{\"type\":\"tags_with_separator\",");
    call_tags(g, "", false);
    qr_tag_text(&g->w, ",\"separator\":");
    qr_tag_string(&g->w, separator, strlen(separator));
    qr_tag_flag(&g->w, "at_least_one", true);
    qr_tag_flag(&g->w, "stop_after_first", g->single);
    qr_tag_text(&g->w, "}");
}

/* begin calls end, as one tag. */
static void section_tag(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    QR_INVARIANT(s); /* the format has calls */
    const char *const begin = text_or_empty(s->begin), *const end = text_or_empty(s->end);
    qr_tag_text(&g->w, "{\"type\":\"tag\",\"begin\":");
    qr_tag_string(&g->w, begin, strlen(begin));
    qr_tag_text(&g->w, ",\"content\":");
    calls_list(g);
    qr_tag_text(&g->w, ",\"end\":");
    qr_tag_string(&g->w, end, strlen(end));
    qr_tag_text(&g->w, "}");
}

/* The texts that start a call inside free text. Only the choice AUTO, of all tools, allows it. */
static void triggers(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    struct qr_bytes head = { 0 };
    qr_tag_text(&g->w, "\"triggers\":[");
    if (s->trigger)
        qr_tag_string(&g->w, s->trigger, strlen(s->trigger));
    for (size_t i = 0; i < g->tools->n && !s->trigger; i++) {
        call_head(g, &head, text_or_empty(s->begin), &g->tools->tools[i]);
        if (i > 0)
            qr_tag_text(&g->w, ",");
        qr_tag_string(&g->w, text_or_empty(head.data), head.size);
    }
    qr_tag_text(&g->w, "],");
    qr_bytes_free(g->w.allocator, &head);
}

/* Free text with calls in it. */
static void free_text(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    QR_INVARIANT(s); /* the format has calls */
    qr_tag_text(&g->w, "{\"type\":\"triggered_tags\",");
    triggers(g);
    if (!s->trigger)
        call_tags(g, text_or_empty(s->begin), s->end != NULL);
    else if (s->begin) {
        qr_tag_text(&g->w, "\"tags\":[");
        section_tag(g);
        qr_tag_text(&g->w, "]");
    } else
        call_tags(g, "", false);
    qr_tag_flag(&g->w, "at_least_one", false);
    /* one section holds all calls */
    qr_tag_flag(&g->w, "stop_after_first", g->single || s->begin);
    qr_tag_text(&g->w, "}");
}

/* Content without calls: of the response schema, or text between the markers of content. */
static void content(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const char *const open = s ? s->content_open : NULL;
    const char *const close = text_or_empty(open ? s->content_close : NULL);
    qr_tag_text(&g->w, "{\"type\":\"tag\",\"begin\":");
    qr_tag_string(&g->w, text_or_empty(open), strlen(text_or_empty(open)));
    qr_tag_text(&g->w, ",\"content\":");
    if (g->response) {
        qr_tag_text(&g->w, "{\"type\":\"json_schema\",\"json_schema\":");
        qr_tag_value(&g->w, g->response);
        qr_tag_text(&g->w, "}");
    } else
        qr_tag_text(&g->w, "{\"type\":\"any_text\"}");
    qr_tag_text(&g->w, ",\"end\":");
    qr_tag_string(&g->w, close, strlen(close));
    qr_tag_text(&g->w, "}");
}

static void body(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    if (g->tool_choice == QUIRE_TOOL_CHOICE_NONE) {
        content(g);
        return;
    }
    QR_INVARIANT(s); /* check_tools: the format has calls */
    if (g->tool_choice != QUIRE_TOOL_CHOICE_AUTO)
        section_tag(g);
    else if (!g->response && !s->content_open)
        free_text(g);
    else {
        qr_tag_text(&g->w, "{\"type\":\"or\",\"elements\":[");
        content(g);
        qr_tag_text(&g->w, ",");
        section_tag(g);
        qr_tag_text(&g->w, "]}");
    }
}

/* The thinking block before the body: what is left of it, or an optional one. */
static void thinking(struct qr_tool_grammar *g)
{
    const struct qr_call_syntax *const s = g->format->syntax;
    const bool own = s && s->think_open;
    const char *const open = own ? s->think_open : g->format->think_open[0];
    const char *const close = own ? s->think_close : g->format->think_close[0];
    /* a model whose template has no marks at all is not known to think */
    const bool unknown = strcmp(g->format->name, "generic_json") == 0;
    if (!open || ((unknown || g->no_thinking) && !g->thinking_open))
        return;
    if (!g->thinking_open) {
        qr_tag_text(&g->w, "{\"type\":\"or\",\"elements\":[");
        qr_tag_const(&g->w, "", 0);
        qr_tag_text(&g->w, ",");
    }
    qr_tag_text(&g->w, "{\"type\":\"sequence\",\"elements\":[{\"type\":\"tag\",\"begin\":");
    qr_tag_string(&g->w, g->thinking_open ? "" : open, g->thinking_open ? 0 : strlen(open));
    qr_tag_text(&g->w, ",\"content\":{\"type\":\"any_text\"},\"end\":");
    qr_tag_string(&g->w, close, strlen(close));
    qr_tag_text(&g->w, "},");
    if (own)
        qr_tag_const(&g->w, "", 0);
    else
        qr_tag_regex(&g->w, "\\n{0,2}");
    qr_tag_text(&g->w, "]}");
    if (!g->thinking_open)
        qr_tag_text(&g->w, "]}");
    qr_tag_text(&g->w, ",");
}

static quire_status check_tools(const struct qr_tool_grammar *g, struct quire_error *err)
{
    if (g->tool_choice == QUIRE_TOOL_CHOICE_NONE)
        return QUIRE_OK;
    if (!g->format->syntax)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "calls of the format %s cannot be constrained",
                       g->format->name);
    for (size_t i = 0; i < g->tools->n; i++) {
        const struct qr_tool *const t = &g->tools->tools[i];
        struct qr_tag_writer w = { .allocator = g->w.allocator };
        if (!selected(g, i))
            continue;
        if (g->format->notation != QR_CALLS_JSON && !plain_name(t))
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "tools[%zu]: the format %s cannot write the name \"%s\"", i,
                           g->format->name, t->name);
        const bool ok = qr_tag_object_schema(&w, t->parameters);
        qr_bytes_free(w.allocator, &w.out);
        if (!ok)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "tools[%zu] (\"%s\"): parameters allows no object", i, t->name);
    }
    return QUIRE_OK;
}

quire_status qr_tool_grammar_write(struct qr_tool_grammar *g, struct quire_error *err)
{
    QR_TRY(check_tools(g, err));
    g->single = g->single || (g->format->syntax && g->format->syntax->single);
    qr_tag_text(&g->w, "{\"type\":\"structural_tag\",\"format\":"
                       "{\"type\":\"sequence\",\"elements\":[");
    thinking(g);
    body(g);
    qr_tag_text(&g->w, "]}}");
    return g->w.nomem ? qr_fail(err, QUIRE_E_NOMEM, "quire_chat_tool_grammar: out of memory")
                      : QUIRE_OK;
}
