/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - opens the engine and runs the turns of a conversation. */
#include "session.h"
#include "bundled.h"
#include "exit_code.h"
#include "interrupt.h"
#include "numbers.h"
#include "terminal.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sysexits.h>

static void log_message(void *user, enum quire_log_level level, quire_status code, const char *msg)
{
    const struct options *o = user;
    (void)code;
    if (level > QUIRE_LOG_WARN && !o->verbose)
        return;
    clear_progress();
    print_message("%s", msg);
}

/* Reads a file of at most 1 MiB. */
static bool read_template(const char *path, struct text *out)
{
    char buf[4096];
    size_t n;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (out->size <= 1 << 20 && (n = fread(buf, 1, sizeof buf, f)) > 0)
        text_add(out, buf, n);
    text_add(out, "", 0);
    const bool ok = !ferror(f) && !out->failed && out->size <= 1 << 20;
    if (!ok && !ferror(f))
        errno = EFBIG;
    fclose(f);
    return ok;
}

/* Checks --isa and QUIRE_ISA before the model is opened: their exit codes differ from those of a
 * bad model. */
static int check_isa(const struct options *o, struct output *out)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_cpu_describe(o->isa, NULL, 0, NULL, &err);
    if (s != QUIRE_OK)
        output_error(out, s, err.msg);
    return exit_code_of_isa(s, o->isa);
}

static void set_sampling(struct session *s)
{
    const struct options *o = s->options;
    struct quire_sampling_params *p = &s->settings.sampling;
    if (quire_engine_default_sampling(s->engine, p) != QUIRE_OK)
        quire_sampling_params_init(p, sizeof *p);
    const struct {
        float given, *field;
    } reals[] = {
        { o->temperature, &p->temperature },
        { o->top_p, &p->top_p },
        { o->min_p, &p->min_p },
        { o->repeat_penalty, &p->repetition_penalty },
        { o->presence_penalty, &p->presence_penalty },
        { o->frequency_penalty, &p->frequency_penalty },
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (!isnan(reals[i].given))
            *reals[i].field = reals[i].given;
    if (o->top_k != NOT_GIVEN)
        p->top_k = o->top_k;
    if (o->repeat_last_n != NOT_GIVEN)
        p->penalty_last_n = o->repeat_last_n;
    p->seed = (uint64_t)o->seed;
    if (o->seed < 0) { /* 32 bits: short enough to type */
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            print_message("cannot get a random seed: %s; using 0", strerror(errno));
        p->seed = random;
    }
}

static bool init_conversation(struct session *s)
{
    const struct options *o = s->options;
    s->settings.max_tokens = o->max_tokens;
    for (uint32_t i = 0; i < o->stop.n; i++)
        if (!settings_add_stop(&s->settings, o->stop.text[i]))
            return false;
    if (o->system && o->raw)
        print_message("--system-prompt has no effect with --no-cnv");
    return !o->system || conversation_add(&s->conversation, "system", o->system, strlen(o->system));
}

static void print_context_length(const struct session *s)
{
    char cache[24];
    const struct quire_engine_info *i = &s->info;
    if (s->options->verbose || (s->options->context == 0 && !s->options->dry_run))
        print_message("%s: context %u tokens (model: %u), KV cache %s", s->model_name,
                      i->context_length, i->model_context_length, format_bytes(i->kv_bytes, cache));
}

static int open_engine(struct session *s, const char *template, const struct quire_logger *logger)
{
    const struct options *o = s->options;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = o->model;
    if (!o->model)
        p.model_data = bundled_model(&p.model_bytes);
    if (!o->model && !p.model_data) {
        output_error(s->out, QUIRE_E_INVALID_ARG, "no bundled model in this build: use -m FILE");
        return EX_USAGE;
    }
    p.chat_template = template;
    p.isa = o->isa;
    p.compute = o->compute;
    p.n_threads = o->threads;
    p.context_length = o->context;
    p.kv_bytes = o->kv_mem;
    p.k_dtype = o->k_type;
    p.v_dtype = o->v_type;
    p.flags = o->dry_run ? QUIRE_ENGINE_DRY_RUN : 0;
    p.logger = logger;
    p.pack_cache = o->pack_cache;
    p.kv_scales = o->kv_scales;
    p.progress = show_load_progress;
    p.progress_user = (void *)(uintptr_t)s->model_name;
    interrupts_block(true);
    const quire_status status = quire_engine_open(&p, &s->engine, &err);
    interrupts_block(false);
    clear_progress();
    if (status != QUIRE_OK) {
        output_error(s->out, status, err.msg);
        return exit_code_of_status(status, &err, true);
    }
    return 0;
}

int session_open(struct session *s, const struct options *o, struct output *out)
{
    /* the engine borrows it until close */
    static struct quire_logger logger = { NULL, log_message };
    logger.user = (void *)(uintptr_t)o;
    *s = (struct session){ .options = o,
                           .out = out,
                           .model_name = o->model ? o->model : "bundled model" };
    int code = check_isa(o, out);
    if (code)
        return code;
    struct text template = { 0 };
    if (o->template_file && !read_template(o->template_file, &template)) {
        print_message("cannot read %s: %s", o->template_file, strerror(errno));
        text_free(&template);
        return EX_NOINPUT;
    }
    code = open_engine(s, template.data, &logger);
    text_free(&template);
    if (code)
        return code;
    s->model.struct_size = sizeof s->model;
    s->info.struct_size = sizeof s->info;
    if (quire_model_get_info(quire_engine_model(s->engine), &s->model) != QUIRE_OK ||
        quire_engine_get_info(s->engine, &s->info) != QUIRE_OK)
        return EX_SOFTWARE;
    if (s->model.name && s->model.name[0])
        s->model_name = s->model.name;
    /* locks weights and KV cache too */
    if (o->mlock && !o->dry_run && mlockall(MCL_CURRENT) != 0) {
        print_message("cannot lock memory: %s (see ulimit -l)", strerror(errno));
        return EX_OSERR;
    }
    set_sampling(s);
    if (!init_conversation(s))
        return EX_TEMPFAIL;
    print_context_length(s);
    return 0;
}

void session_close(struct session *s)
{
    quire_engine_close(s->engine);
    conversation_free(&s->conversation);
    settings_free(&s->settings);
}

bool session_reset(struct session *s)
{
    conversation_truncate(&s->conversation, 0);
    s->regenerations = 0;
    return !s->options->system || conversation_add(&s->conversation, "system", s->options->system,
                                                   strlen(s->options->system));
}

/* Handles the events of one step. Returns true when the request is done. */
static bool poll_events(struct session *s, struct quire_event *done)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    while (quire_engine_poll(s->engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
        if (ev.kind == QUIRE_EVENT_PROMPT) {
            show_prefill_progress(ev.usage->prompt_done, ev.usage->prompt_tokens);
            continue;
        }
        clear_progress();
        if (ev.kind == QUIRE_EVENT_TEXT)
            output_piece(s->out, ev.text, ev.text_size);
        if (ev.kind == QUIRE_EVENT_DONE) {
            *done = ev;
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
        if (s->out->error) /* the rest could not be written */
            (void)quire_request_cancel(s->engine, id);
    } while (status == QUIRE_OK && !poll_events(s, done));
    interrupts_set_request(NULL, 0);
    (void)interrupts_consume(); /* a Ctrl-C that cancelled the request */
    return status;
}

/* Prints a failure, and a remedy if there is one. */
static enum turn_result report_failure(struct session *s, quire_status status, const char *message)
{
    if (s->out->answer.size && !s->out->json)
        output_print(s->out, "\n");
    output_error(s->out, status, message);
    if (status == QUIRE_E_UNSUPPORTED && !s->options->raw)
        print_message("use --chat-template-file FILE, or --no-cnv to complete text");
    return TURN_FAILED;
}

/* Generates an answer to the first n messages, or a completion of the text. */
static enum turn_result generate(struct session *s, size_t n, const char *text, size_t size,
                                 quire_status *status)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_request_params request;
    quire_request_params_init(&request, sizeof request);
    struct quire_chat_message *messages = calloc(n + 1, sizeof *messages);
    for (size_t i = 0; messages && i < n; i++)
        messages[i] = (struct quire_chat_message){ .role = s->conversation.messages[i].role,
                                                   .content = s->conversation.messages[i].content,
                                                   .content_len = QUIRE_NUL_TERMINATED };
    if (s->options->raw) {
        request.text = text;
        request.text_size = size;
    } else {
        request.messages = messages;
        request.n_messages = n;
    }
    request.max_tokens = s->settings.max_tokens < 0 ? 0 : (uint32_t)s->settings.max_tokens;
    request.stop = (const char *const *)s->settings.stop;
    request.n_stop = s->settings.n_stop;
    request.flags = s->options->ignore_eos ? QUIRE_REQUEST_IGNORE_EOS : 0;
    request.sampling = &s->settings.sampling;
    request.stream = s->regenerations;
    struct quire_event done = { .struct_size = sizeof done };
    output_begin(s->out);
    *status = messages ? run_request(s, &request, &done, &err) : QUIRE_E_NOMEM;
    free(messages);
    if (*status != QUIRE_OK)
        return report_failure(s, *status, err.code != QUIRE_OK ? err.msg : "out of memory");
    if (done.reason == QUIRE_FINISH_ERROR) {
        *status = done.status;
        return report_failure(s, *status, done.message);
    }
    output_done(s->out, &done, s->settings.sampling.seed);
    if (done.context_full)
        print_message("the context of %u tokens is full: /reset clears it, -c N sets its size",
                      s->info.context_length);
    s->last = *done.usage;
    s->n_answers++;
    s->total_prompt += done.usage->prompt_tokens;
    s->total_cached += done.usage->cached_tokens;
    s->total_completion += done.usage->completion_tokens;
    return done.reason == QUIRE_FINISH_CANCELLED ? TURN_CANCELLED : TURN_DONE;
}

/* Generates an answer to the first n messages. The answer, also a cancelled one, replaces the
 * messages after them. */
static enum turn_result answer_message(struct session *s, size_t n, quire_status *status)
{
    const enum turn_result result = generate(s, n, NULL, 0, status);
    const struct text *reply = &s->out->answer;
    if (result == TURN_FAILED)
        return result;
    conversation_truncate(&s->conversation, n);
    if (conversation_add(&s->conversation, "assistant", reply->data ? reply->data : "",
                         reply->size))
        return result;
    *status = QUIRE_E_NOMEM;
    return TURN_FAILED;
}

enum turn_result session_turn(struct session *s, const char *text, size_t size,
                              quire_status *status)
{
    s->regenerations = 0;
    if (s->options->raw)
        return generate(s, 0, text, size, status);
    const size_t before = s->conversation.n;
    *status = QUIRE_E_NOMEM;
    if (!conversation_add(&s->conversation, "user", text, size))
        return TURN_FAILED;
    const enum turn_result result = answer_message(s, s->conversation.n, status);
    if (result == TURN_FAILED)
        conversation_truncate(&s->conversation, before);
    return result;
}

enum turn_result session_regenerate(struct session *s, quire_status *status)
{
    size_t n = s->conversation.n;
    while (n && strcmp(s->conversation.messages[n - 1].role, "user") != 0)
        n--;
    *status = QUIRE_E_INVALID_ARG;
    if (!n) {
        print_message("there is no turn to answer yet");
        return TURN_FAILED;
    }
    s->regenerations++;
    return answer_message(s, n, status);
}
