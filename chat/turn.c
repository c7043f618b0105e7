/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c - runs requests and keeps their answers in the conversation. */
#include "turn.h"
#include "adapter.h"
#include "interrupt.h"
#include "prompt.h"
#include "roll.h"
#include "terminal.h"
#include "tool_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles the events of one step. Returns true when the request is done; *ev is its last event. */
static bool poll_events(struct session *s, struct quire_event *ev)
{
    while (quire_engine_poll(s->engine, ev, NULL) == QUIRE_OK && ev->kind != QUIRE_EVENT_NONE) {
        if (ev->kind == QUIRE_EVENT_PROMPT) {
            if (!s->options->quiet)
                show_prefill_progress(ev->usage->prompt_done, ev->usage->prompt_tokens);
            continue;
        }
        clear_progress();
        if (ev->kind == QUIRE_EVENT_TEXT) {
            answer_add(&s->answer, s->out, ev->text, ev->text_size);
            s->repeats |= repeat_guard_add(&s->repeat_guard, ev->tokens, ev->n_tokens, ev->text,
                                           ev->text_size);
        }
        if (ev->kind == QUIRE_EVENT_DONE) {
            answer_finish(&s->answer, s->out);
            return true;
        }
    }
    return false;
}

/* Submits a request and runs it to its end. */
static quire_status run_request(struct session *s, const struct quire_request_params *request,
                                struct quire_event *done, struct quire_error *err)
{
    quire_request_id id;
    quire_status status = quire_engine_submit(s->engine, request, &id, err);
    if (status != QUIRE_OK)
        return status;
    interrupts_set_request(s->engine, id);
    do {
        status = quire_engine_step(s->engine, err);
        /* the rest could not be written or read, or is worth nothing */
        if (s->out->error || s->repeats || s->answer.status != QUIRE_OK)
            (void)quire_request_cancel(s->engine, id);
    } while (status == QUIRE_OK && !poll_events(s, done));
    interrupts_set_request(NULL, 0);
    (void)interrupts_consume(); /* a Ctrl-C that cancelled the request */
    if (status == QUIRE_OK && s->answer.status != QUIRE_OK) {
        status = s->answer.status;
        snprintf(err->msg, sizeof err->msg, "the parser of the answer: %s",
                 quire_status_text(status));
    }
    return status;
}

/* Prints a failure, and a remedy if there is one. */
static enum turn_result report_failure(struct session *s, quire_status status, const char *message)
{
    if (s->out->part != PART_NONE && !s->out->json)
        output_print(s->out, "\n");
    session_report_error(s, status, message, NULL);
    if (status == QUIRE_E_UNSUPPORTED && !s->raw)
        print_message("use --chat-template-file FILE, or --no-cnv to complete text");
    return TURN_FAILED;
}

static bool exceeds_context(const struct session *s, const struct quire_request_params *request)
{
    size_t n_tokens;
    const quire_status status = quire_engine_count_tokens(s->engine, request, &n_tokens, NULL);
    return status == QUIRE_OK && n_tokens > s->info.context_length;
}

/* Prints why an answer has ended early. */
static void report_end(const struct session *s, const struct quire_event *done)
{
    if (s->repeats)
        print_message("the answer repeats itself: it was ended, and the repetition is not kept "
                      "(--no-repeat-guard lets it go on)");
    if (s->answer.n_broken)
        print_message("%u call%s dropped: the arguments are not complete JSON",
                      (unsigned)s->answer.n_broken, s->answer.n_broken == 1 ? " is" : "s are");
    if (!done->context_full)
        return;
    if (s->options->no_roll || s->raw)
        print_message("the context of %u tokens is full: /reset clears it, -c N sets its size",
                      s->info.context_length);
    else
        print_message("the context of %u tokens is full: /continue goes on without the oldest "
                      "turns, -c N sets its size",
                      s->info.context_length);
}

static void count_usage(struct session *s, const struct quire_usage *usage)
{
    s->last = *usage;
    s->n_answers++;
    s->total_prompt += usage->prompt_tokens;
    s->total_cached += usage->cached_tokens;
    s->total_completion += usage->completion_tokens;
    s->conversation->n_tokens = usage->prompt_tokens + usage->completion_tokens;
}

/* Why an answer has ended, in a word. */
static const char *end_name(const struct session *s, const struct quire_event *done)
{
    const bool calls = done->reason == QUIRE_FINISH_STOP && s->answer.n_calls;
    return s->repeats ? "repetition"
           : calls    ? "tool_calls"
                      : quire_finish_reason_name(done->reason);
}

/* Runs a request and shows its answer. */
static enum turn_result answer_request(struct session *s,
                                       const struct quire_request_params *request,
                                       quire_status *status)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_event done = { .struct_size = sizeof done };
    output_begin(s->out);
    repeat_guard_begin(&s->repeat_guard);
    s->repeats = false;
    *status = run_request(s, request, &done, &err);
    if (*status != QUIRE_OK) {
        (void)report_failure(s, *status, err.msg);
        if (*status == QUIRE_E_LIMIT && !s->raw && exceeds_context(s, request))
            print_message("/reset clears the conversation, -c N sets the size of the context");
        return TURN_FAILED;
    }
    if (done.reason == QUIRE_FINISH_ERROR) {
        *status = done.status;
        return report_failure(s, *status, done.message);
    }
    s->repeats &= done.reason == QUIRE_FINISH_CANCELLED;
    output_done(s->out, &done, end_name(s, &done), s->settings.sampling.seed);
    report_end(s, &done);
    count_usage(s, done.usage);
    if (s->repeats)
        answer_cut(&s->answer, s->out, repeat_guard_repeated_bytes(&s->repeat_guard));
    return done.reason == QUIRE_FINISH_CANCELLED && !s->repeats ? TURN_CANCELLED : TURN_DONE;
}

static void set_request(struct session *s, struct quire_request_params *request)
{
    quire_request_params_init(request, sizeof *request);
    request->max_tokens = s->settings.max_tokens < 0 ? 0 : (uint32_t)s->settings.max_tokens;
    request->stop = (const char *const *)s->settings.stop;
    request->n_stop = s->settings.n_stop;
    request->flags = s->options->ignore_eos ? QUIRE_REQUEST_IGNORE_EOS : 0;
    request->grammar = s->grammar;
    request->sampling = &s->settings.sampling;
    request->stream = s->conversation->regenerations;
    request->draft_tokens = session_draft_tokens(s->options);
    answer_free(&s->answer); /* of the request before */
    adapter_set_request(s, request);
}

static enum turn_result complete_text(struct session *s, const char *text, size_t size,
                                      quire_status *status)
{
    struct quire_request_params request;
    set_request(s, &request);
    request.text = text;
    request.text_size = size;
    return answer_request(s, &request, status);
}

/* Makes room for the answer by dropping turns from the prompt. A failure to count the tokens is
 * reported by the request itself. */
static void roll(struct session *s, struct quire_request_params *request, struct prompt *prompt)
{
    const struct roll_args args = { .engine = s->engine,
                                    .prompt = prompt,
                                    .context_length = s->info.context_length };
    if (s->options->no_roll || !roll_prompt(&args, request, &s->conversation->first))
        return;
    if (!s->conversation->roll_reported)
        print_message(
            "the context of %u tokens is full: the oldest turns are no longer part of the "
            "prompt (--no-roll ends the conversation instead)",
            s->info.context_length);
    else if (s->options->verbose)
        print_message("%zu of %zu messages are in the prompt", request->n_messages, prompt->n);
    s->conversation->roll_reported = true;
}

/* Generates an answer to the first n messages, or the rest of one that is their last. */
static enum turn_result generate(struct session *s, size_t n, quire_status *status)
{
    struct quire_request_params request;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct prompt prompt;
    enum turn_result result;
    *status = QUIRE_E_NOMEM;
    if (!prompt_open(&prompt, s->conversation, n, s->form.note)) {
        prompt_close(&prompt);
        return report_failure(s, *status, "out of memory");
    }
    set_request(s, &request);
    answer_form_set(s, &request);
    request.messages = prompt.messages;
    request.n_messages = prompt_fill(&prompt, s->conversation->first);
    roll(s, &request, &prompt);
    *status = answer_form_begin(s, &request, &err);
    if (*status == QUIRE_OK)
        result = answer_request(s, &request, status);
    else
        result = report_failure(s, *status, err.msg);
    prompt_close(&prompt);
    return result;
}

/* Replaces the messages after the first n by the answer. If it continues message n, that is
 * replaced, too: the answer begins with its content and reasoning. */
static enum turn_result keep_answer(struct session *s, size_t n, bool continues,
                                    enum turn_result result, quire_status *status)
{
    static const struct message none = { .content = (char *)"" };
    struct conversation *c = s->conversation;
    const struct message *start = continues ? &c->messages[n] : &none;
    struct text content = { 0 }, reasoning = { 0 }, calls = { 0 };
    text_add(&content, start->content, strlen(start->content));
    text_add(&content, s->out->answer.data, s->out->answer.size);
    if (start->reasoning)
        text_add(&reasoning, start->reasoning, strlen(start->reasoning));
    text_add(&reasoning, s->answer.reasoning.data, s->answer.reasoning.size);
    if (s->answer.n_calls)
        answer_add_calls_json(&s->answer, &calls);
    const struct message_extra extra = { .reasoning = reasoning.size ? reasoning.data : NULL,
                                         .tool_calls = calls.data };
    bool ok = !content.failed && !reasoning.failed && !calls.failed;
    if (ok) {
        conversation_truncate(c, n);
        ok = conversation_add_extra(c, "assistant", content.data, content.size, &extra);
    }
    text_free(&content);
    text_free(&reasoning);
    text_free(&calls);
    if (ok)
        return result;
    *status = QUIRE_E_NOMEM;
    return report_failure(s, *status, "out of memory");
}

/* Runs the calls of the last answer, which are printed or not, and generates the answer to their
 * results, again and again. */
static enum turn_result run_calls(struct session *s, bool printed, quire_status *status)
{
    enum turn_result result = TURN_DONE;
    for (int i = 0; result == TURN_DONE && conversation_ends_with_calls(s->conversation); i++) {
        if (i == TOOL_MAX_ROUNDS) {
            print_message("%d answers in a row call tools: /continue lets the model go on", i);
            break;
        }
        const enum tool_run run = tool_run_calls(s, printed || i > 0);
        if (run == TOOL_RUN_NO_MEMORY) {
            *status = QUIRE_E_NOMEM;
            return report_failure(s, *status, "out of memory");
        }
        if (run == TOOL_RUN_STOPPED)
            return TURN_CANCELLED;
        const size_t n = s->conversation->n;
        result = generate(s, n, status);
        if (result != TURN_FAILED)
            result = keep_answer(s, n, false, result, status);
    }
    return result;
}

/* Generates an answer to the first n messages, runs its calls and answers the results. The answer,
 * also a cancelled one, replaces the messages after them. */
static enum turn_result answer_message(struct session *s, size_t n, quire_status *status)
{
    enum turn_result result = generate(s, n, status);
    if (result != TURN_FAILED)
        result = keep_answer(s, n, false, result, status);
    return result == TURN_DONE && s->tools.words ? run_calls(s, true, status) : result;
}

enum turn_result turn_run(struct session *s, const char *text, size_t size, quire_status *status)
{
    s->conversation->regenerations = 0;
    if (s->raw)
        return complete_text(s, text, size, status);
    const size_t before = s->conversation->n, first = s->conversation->first;
    *status = QUIRE_E_NOMEM;
    if (!conversation_add(s->conversation, "user", text, size))
        return TURN_FAILED;
    const enum turn_result result = answer_message(s, s->conversation->n, status);
    if (result == TURN_FAILED) {
        conversation_truncate(s->conversation, before);
        s->conversation->first = first;
    }
    return result;
}

enum turn_result turn_regenerate(struct session *s, quire_status *status)
{
    const size_t last = conversation_last_turn(s->conversation, s->conversation->n);
    *status = QUIRE_E_INVALID_ARG;
    if (last == s->conversation->n) {
        print_message("there is no turn to answer yet");
        return TURN_FAILED;
    }
    s->conversation->regenerations++;
    return answer_message(s, last + 1, status);
}

enum turn_result turn_continue(struct session *s, quire_status *status)
{
    const struct conversation *c = s->conversation;
    const size_t n = c->n;
    *status = QUIRE_E_INVALID_ARG;
    if (conversation_last_turn(c, n) == n) {
        print_message("there is no answer to continue yet");
        return TURN_FAILED;
    }
    if (conversation_ends_with_calls(c)) {
        if (s->tools.words)
            return run_calls(s, false, status);
        print_message("the last answer calls tools: --tool-exec runs them");
        return TURN_FAILED;
    }
    if (!conversation_ends_with_answer(c))
        return answer_message(s, n, status);
    if (!c->messages[n - 1].content[0]) /* reasoning alone cannot be continued */
        return answer_message(s, n - 1, status);
    enum turn_result result = generate(s, n, status);
    if (result != TURN_FAILED)
        result = keep_answer(s, n - 1, true, result, status);
    return result == TURN_DONE && s->tools.words ? run_calls(s, true, status) : result;
}
