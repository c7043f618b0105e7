/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - opening the engine for the options given, and turns of a conversation. */
#include "session.h"
#include "bundled.h"
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

int exit_code_of(quire_status status, const struct quire_error *err, bool opening)
{
    switch (status) {
    case QUIRE_OK:
        return EX_OK;
    case QUIRE_E_IO:
        /* not there, no permission, not a file of this kind */
        return err->detail == ENOENT || err->detail == EACCES || err->detail == ENOTDIR ||
                       err->detail == EISDIR
                   ? EX_NOINPUT
                   : EX_IOERR;
    case QUIRE_E_INVALID_ARG:
    case QUIRE_E_MISUSE:
    case QUIRE_E_RANGE:
        return EX_USAGE;
    case QUIRE_E_LIMIT:
        return opening ? EX_USAGE : EX_DATAERR;
    case QUIRE_E_FORMAT:
    case QUIRE_E_UNSUPPORTED:
    case QUIRE_E_CORRUPT:
    case QUIRE_E_MISMATCH:
    case QUIRE_E_NUMERIC:
        return EX_DATAERR;
    case QUIRE_E_NOMEM:
    case QUIRE_E_AGAIN:
        return EX_TEMPFAIL;
    case QUIRE_E_CANCELLED:
        return 130;
    default:
        return EX_SOFTWARE;
    }
}

static void log_message(void *user, enum quire_log_level level, quire_status code, const char *msg)
{
    const struct options *o = user;
    (void)code;
    if (level > QUIRE_LOG_WARN && !o->verbose)
        return;
    clear_progress();
    complain("%s", msg);
}

/* Reads a whole file of at most 1 MiB, as a template is. */
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

/* The isa of the command line and of QUIRE_ISA are checked first: their exit codes differ from
 * a bad model's. */
static int check_isa(const struct options *o, struct output *out)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_cpu_describe(o->isa, NULL, 0, NULL, &err);
    if (s == QUIRE_OK)
        return 0;
    output_error(out, s, err.msg);
    return s == QUIRE_E_UNSUPPORTED ? EX_UNAVAILABLE : o->isa ? EX_USAGE : EX_CONFIG;
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
    if (o->seed < 0) { /* 32 bits, so that people can type it back */
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            complain("no random seed: %s; using 0", strerror(errno));
        p->seed = random;
    }
}

static bool set_up_talk(struct session *s)
{
    const struct options *o = s->options;
    s->settings.max_tokens = o->max_tokens;
    for (uint32_t i = 0; i < o->n_stop; i++)
        if (!settings_add_stop(&s->settings, o->stop[i]))
            return false;
    if (o->system && o->raw)
        complain("--system-prompt means nothing with --no-cnv");
    return !o->system || conversation_add(&s->talk, "system", o->system, strlen(o->system));
}

static void tell_context(const struct session *s)
{
    char cache[24];
    const struct quire_engine_info *i = &s->info;
    if (s->options->verbose || (s->options->context == 0 && !s->options->dry_run))
        complain("%s: context %u tokens of the model's %u, cache %s", s->model_name,
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
        output_error(s->out, QUIRE_E_INVALID_ARG, "no bundled model in this build: give -m FILE");
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
    p.progress = show_progress;
    p.progress_user = (void *)(uintptr_t)s->model_name;
    interrupts_hold(true);
    const quire_status status = quire_engine_open(&p, &s->engine, &err);
    interrupts_hold(false);
    clear_progress();
    if (status != QUIRE_OK) {
        output_error(s->out, status, err.msg);
        return exit_code_of(status, &err, true);
    }
    return 0;
}

int session_open(struct session *s, const struct options *o, struct output *out)
{
    /* the engine keeps using it */
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
        complain("cannot read %s: %s", o->template_file, strerror(errno));
        text_free(&template);
        return EX_NOINPUT;
    }
    code = open_engine(s, template.data, &logger);
    text_free(&template);
    if (code)
        return code;
    s->model.struct_size = sizeof s->model;
    s->info.struct_size = sizeof s->info;
    if (quire_model_info(quire_engine_model(s->engine), &s->model) != QUIRE_OK ||
        quire_engine_info(s->engine, &s->info) != QUIRE_OK)
        return EX_SOFTWARE;
    if (s->model.name && s->model.name[0])
        s->model_name = s->model.name;
    /* weights, cache and everything else at once */
    if (o->mlock && !o->dry_run && mlockall(MCL_CURRENT) != 0) {
        complain("cannot keep the model in memory: %s (see ulimit -l)", strerror(errno));
        return EX_OSERR;
    }
    set_sampling(s);
    if (!set_up_talk(s))
        return EX_TEMPFAIL;
    tell_context(s);
    return 0;
}

void session_close(struct session *s)
{
    quire_engine_close(s->engine);
    conversation_free(&s->talk);
    settings_free(&s->settings);
}

bool session_reset(struct session *s)
{
    conversation_keep(&s->talk, 0);
    s->attempt = 0;
    return !s->options->system ||
           conversation_add(&s->talk, "system", s->options->system, strlen(s->options->system));
}

/* Takes the events of one step. Returns true when the answer has ended. */
static bool take_events(struct session *s, struct quire_event *done)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    while (quire_engine_poll(s->engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
        if (ev.kind == QUIRE_EVENT_PROMPT) {
            show_reading(ev.usage->prompt_done, ev.usage->prompt_tokens);
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

/* Runs a request to its end. */
static quire_status run_request(struct session *s, const struct quire_request_params *request,
                                struct quire_event *done, struct quire_error *err)
{
    quire_request_id id;
    quire_status status = quire_engine_submit(s->engine, request, &id, err);
    if (status != QUIRE_OK)
        return status;
    interrupts_watch(s->engine, id);
    do {
        status = quire_engine_step(s->engine, err);
        if (s->out->error) /* nobody can read the rest */
            (void)quire_request_cancel(s->engine, id);
    } while (status == QUIRE_OK && !take_events(s, done));
    interrupts_watch(NULL, 0);
    (void)interrupts_note(); /* one that stopped the answer has done its work */
    return status;
}

/* Tells what went wrong, and what helps. */
static enum answer_result answer_failed(struct session *s, quire_status status, const char *message)
{
    if (s->out->answer.size && !s->out->json)
        output_print(s->out, "\n");
    output_error(s->out, status, message);
    if (status == QUIRE_E_UNSUPPORTED && !s->options->raw)
        complain("give a template with --chat-template-file, or continue text with --no-cnv");
    return ANSWER_FAILED;
}

/* Asks for an answer to the first n messages, or to a plain text. */
static enum answer_result answer(struct session *s, size_t n, const char *text, size_t size,
                                 quire_status *status)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_request_params request;
    quire_request_params_init(&request, sizeof request);
    struct quire_chat_message *messages = calloc(n + 1, sizeof *messages);
    for (size_t i = 0; messages && i < n; i++)
        messages[i] = (struct quire_chat_message){ .role = s->talk.messages[i].role,
                                                   .content = s->talk.messages[i].content,
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
    request.stream = s->attempt;
    struct quire_event done = { .struct_size = sizeof done };
    output_begin(s->out);
    *status = messages ? run_request(s, &request, &done, &err) : QUIRE_E_NOMEM;
    free(messages);
    if (*status != QUIRE_OK)
        return answer_failed(s, *status, err.code != QUIRE_OK ? err.msg : "out of memory");
    if (done.reason == QUIRE_FINISH_ERROR) {
        *status = done.status;
        return answer_failed(s, *status, done.message);
    }
    output_done(s->out, &done, s->settings.sampling.seed);
    if (done.context_full)
        complain("the context of %u tokens is full: /reset starts anew, -c N makes it longer",
                 s->info.context_length);
    s->last = *done.usage;
    s->answers++;
    s->total_prompt += done.usage->prompt_tokens;
    s->total_cached += done.usage->cached_tokens;
    s->total_completion += done.usage->completion_tokens;
    return done.reason == QUIRE_FINISH_CANCELLED ? ANSWER_CANCELLED : ANSWER_GIVEN;
}

/* Answers message number n - 1. The answer takes the place of what followed, also one that was
 * cut short. */
static enum answer_result answer_message(struct session *s, size_t n, quire_status *status)
{
    const enum answer_result result = answer(s, n, NULL, 0, status);
    const struct text *said = &s->out->answer;
    if (result == ANSWER_FAILED)
        return result;
    conversation_keep(&s->talk, n);
    if (conversation_add(&s->talk, "assistant", said->data ? said->data : "", said->size))
        return result;
    *status = QUIRE_E_NOMEM;
    return ANSWER_FAILED;
}

enum answer_result session_turn(struct session *s, const char *text, size_t size,
                                quire_status *status)
{
    s->attempt = 0;
    if (s->options->raw)
        return answer(s, 0, text, size, status);
    const size_t before = s->talk.n;
    *status = QUIRE_E_NOMEM;
    if (!conversation_add(&s->talk, "user", text, size))
        return ANSWER_FAILED;
    const enum answer_result result = answer_message(s, s->talk.n, status);
    if (result == ANSWER_FAILED)
        conversation_keep(&s->talk, before);
    return result;
}

enum answer_result session_again(struct session *s, quire_status *status)
{
    size_t n = s->talk.n;
    while (n && strcmp(s->talk.messages[n - 1].role, "user") != 0)
        n--;
    *status = QUIRE_E_INVALID_ARG;
    if (!n) {
        complain("nothing to answer yet");
        return ANSWER_FAILED;
    }
    s->attempt++;
    return answer_message(s, n, status);
}
