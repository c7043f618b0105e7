/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - opens the engine; changes of the conversations and their settings. */
#include "session.h"
#include "adapter.h"
#include "bundled.h"
#include "constraint.h"
#include "conversation_file.h"
#include "exit_code.h"
#include "interrupt.h"
#include "numbers.h"
#include "terminal.h"
#include "vectors.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

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

/* Settings and messages of --load, overridden by other options. Returns an exit code. */
static int init_conversation(struct session *s)
{
    const struct options *o = s->options;
    struct quire_sampling_params *p = &s->settings.sampling;
    if (quire_engine_default_sampling(s->engine, p) != QUIRE_OK)
        quire_sampling_params_init(p, sizeof *p);
    s->settings.max_tokens = -1;
    settings_draw_seed(&s->settings);
    if (s->raw && (o->system || o->load))
        print_message("%s has no effect with %s", o->load ? "--load" : "--system-prompt",
                      o->raw ? "--no-cnv" : "an encoder-decoder");
    const int code = o->load && !s->raw ? session_load(s, o->load) : 0;
    if (code)
        return code;
    const bool ok = settings_apply(&s->settings, o) &&
                    (!o->system || conversation_set_system(s->conversation, o->system));
    return ok ? 0 : EX_TEMPFAIL;
}

static void report_start(const struct session *s)
{
    char cache[24];
    const struct quire_engine_info *i = &s->info;
    const uint32_t n_cpus = quire_threads_default_count();
    if (s->options->threads > n_cpus)
        print_message(
            "--threads: %u threads on %u CPUs available to this process are slower than %u",
            s->options->threads, n_cpus, n_cpus);
    if (s->options->verbose ||
        (s->options->context == 0 && !s->options->dry_run && !s->options->quiet))
        print_message("%s: context %u of %u tokens%s%s", s->model_name, i->context_length,
                      i->model_context_length, i->kv_bytes ? ", KV cache up to " : "",
                      i->kv_bytes ? format_bytes(i->kv_bytes, cache) : "");
}

void session_report_error(struct session *s, quire_status status, const char *message,
                          const char *path)
{
    struct text text = { 0 };
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash && slash[1] ? slash + 1 : path;
    const bool of_file = status == QUIRE_E_FORMAT || status == QUIRE_E_UNSUPPORTED;
    if (name && of_file && !strstr(message, name)) {
        text_add(&text, name, strlen(name));
        text_add(&text, ": ", 2);
    }
    options_add_message(&text, message);
    output_error(s->out, status, text.failed ? message : text.data);
    text_free(&text);
}

/* Progress of loading without a display: Ctrl-C cancels. */
static bool continue_loading(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    return interrupts_count() == 0;
}

bool session_is_interactive(const struct options *o)
{
    return !vectors_wanted(o) && (o->interactive || (!o->prompt && !o->file && isatty(0)));
}

uint32_t session_draft_tokens(const struct options *o)
{
    return o->draft_model || o->mtp || o->draft_lookup ? o->draft_max : 0;
}

/* Contexts that the KV cache holds if the budget allows: more than the one of a running request, so
 * that a switch to an earlier conversation finds the keys and values of its prompt. Memory is used
 * as the cache fills, in huge pages, of which every layer has its own: a cache of few MiB per layer
 * is soon used whole. --mlock would take all of it at the start. */
static uint32_t cached_contexts(const struct options *o)
{
    enum { CACHED_CONVERSATIONS = 4 };
    if (vectors_wanted(o))
        return VECTORS_AT_A_TIME;
    return session_is_interactive(o) && !o->mlock ? CACHED_CONVERSATIONS : 1;
}

/* The engine also runs models that compute embeddings only. Encoder-decoders have no chat template:
 * they answer each text alone. */
static quire_status check_kind(struct session *s, struct quire_error *err)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    const quire_status status = quire_model_get_info(quire_engine_model(s->engine), &info);
    if (status == QUIRE_OK && vectors_wanted(s->options))
        return vectors_supported(s, err) ? QUIRE_OK : QUIRE_E_UNSUPPORTED;
    s->raw = s->options->raw || info.kind == QUIRE_MODEL_ENCODER_DECODER;
    const bool vectors_only =
        info.kind == QUIRE_MODEL_ENCODER || (info.kind == QUIRE_MODEL_DECODER && !info.has_logits);
    if (status != QUIRE_OK || (!vectors_only && !(s->raw && s->options->tools)))
        return status;
    if (!vectors_only) {
        snprintf(err->msg, sizeof err->msg,
                 "--tools: architecture '%s' is an encoder-decoder, without a chat template",
                 info.arch);
        return QUIRE_E_UNSUPPORTED;
    }
    snprintf(err->msg, sizeof err->msg,
             "architecture '%s' is %s, which does not generate text: give --embed%s", info.arch,
             info.kind == QUIRE_MODEL_ENCODER ? "an encoder" : "a classifier",
             info.n_labels == 1 ? " or --rerank" : "");
    return QUIRE_E_UNSUPPORTED;
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
    p.max_seqs = cached_contexts(o); /* answers run one at a time; gives the cache its size */
    p.context_length = o->context;
    p.kv_bytes = o->kv_mem;
    p.k_dtype = o->k_type;
    p.v_dtype = o->v_type;
    p.flags = (o->dry_run ? QUIRE_ENGINE_DRY_RUN : 0) | (o->strict ? QUIRE_ENGINE_STRICT : 0) |
              (o->allow_unknown ? QUIRE_ENGINE_ALLOW_UNKNOWN : 0) |
              (o->mtp && o->draft_max ? QUIRE_ENGINE_MTP : 0) |
              (o->rotate_values ? QUIRE_ENGINE_ROTATE_VALUES : 0) |
              (o->bf16_states ? QUIRE_ENGINE_BF16_STATES : 0);
    p.logger = logger;
    p.pack_cache = o->pack_cache;
    p.kv_scales = o->kv_scales;
    p.draft_model_path = o->draft_max ? o->draft_model : NULL;
    p.max_draft_tokens = session_draft_tokens(o);
    p.max_adapter_rank = o->lora ? QUIRE_ADAPTER_MAX_RANK : 0;
    p.progress = o->quiet ? continue_loading : show_load_progress;
    p.progress_user = (void *)(uintptr_t)s->model_name;
    interrupts_block(true);
    quire_status status = quire_engine_open(&p, &s->engine, &err);
    interrupts_block(false);
    clear_progress();
    if (status == QUIRE_OK)
        status = check_kind(s, &err);
    if (status == QUIRE_OK)
        return 0;
    session_report_error(s, status, err.msg, o->template_file ? NULL : o->model);
    return exit_code_of_status(status, &err, true);
}

/* ---- --prompt-cache */

static struct quire_cache_file_params prompt_cache(const struct session *s)
{
    struct quire_cache_file_params p;
    quire_cache_file_params_init(&p, sizeof p);
    p.path = s->options->prompt_cache;
    return p;
}

/* A file that cannot be used costs time only; one of another kind is never overwritten. */
static void restore_cache(struct session *s)
{
    const struct quire_cache_file_params p = prompt_cache(s);
    struct quire_cache_file_result r = { .struct_size = sizeof r };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!p.path || s->options->dry_run)
        return;
    s->keeps_cache = true;
    if (access(p.path, F_OK) != 0 && errno == ENOENT)
        return; /* it is created at exit */
    const quire_status status = quire_engine_restore_cache(s->engine, &p, &r, &err);
    s->keeps_cache = status != QUIRE_E_FORMAT;
    if (status != QUIRE_OK)
        print_message("--prompt-cache %s is not used: %s", p.path, err.msg);
    else if (s->options->verbose)
        print_message("%llu tokens restored from %s", (unsigned long long)r.n_tokens, p.path);
}

void session_save_cache(const struct session *s)
{
    const struct quire_cache_file_params p = prompt_cache(s);
    struct quire_cache_file_result r = { .struct_size = sizeof r };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!s->keeps_cache)
        return;
    const quire_status status = quire_engine_save_cache(s->engine, &p, &r, &err);
    if (status != QUIRE_OK && status != QUIRE_E_RANGE) /* RANGE: nothing was computed */
        print_message("--prompt-cache %s is not written: %s", p.path, err.msg);
    else if (status == QUIRE_OK && s->options->verbose)
        print_message("%llu tokens saved in %s", (unsigned long long)r.n_tokens, p.path);
}

/* The form of the answers. template: of --chat-template-file, or NULL. Returns an exit code. */
static int open_answers(struct session *s, const char *template)
{
    const int code = constraint_open(s);
    if (!template)
        template = quire_tokenizer_chat_template(quire_engine_tokenizer(s->engine), NULL);
    return code ? code : answer_form_open(s, template);
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
    if (code == 0)
        code = tools_open(&s->tools, o);
    if (code)
        return code;
    /* calls that are run are no answers: only terminals show them */
    out->show_calls = out->terminal || !s->tools.words;
    if (!session_new(s, NULL)) {
        print_message("out of memory");
        return EX_TEMPFAIL;
    }
    struct text template = { 0 };
    if (o->template_file && !read_template(o->template_file, &template)) {
        print_message("cannot read %s: %s", o->template_file, strerror(errno));
        text_free(&template);
        return EX_NOINPUT;
    }
    code = open_engine(s, template.data, &logger);
    if (code == 0 && !vectors_wanted(o))
        code = open_answers(s, template.data);
    text_free(&template);
    code = code ? code : adapter_open(s);
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
    if (!o->no_repeat_guard && !o->ignore_eos)
        repeat_guard_open(&s->repeat_guard, s->info.context_length);
    report_start(s);
    restore_cache(s);
    return vectors_wanted(o) ? 0 : init_conversation(s);
}

void session_close(struct session *s)
{
    answer_free(&s->answer);
    answer_form_close(s);
    constraint_close(s);
    tools_close(&s->tools);
    quire_engine_close(s->engine);
    conversation_list_free(&s->conversations);
    settings_free(&s->settings);
    repeat_guard_close(&s->repeat_guard);
}

bool session_set_system(struct session *s, const char *text)
{
    struct conversation *c = s->conversation;
    const size_t before = c->n;
    if (!conversation_set_system(c, text))
        return false;
    c->first = c->first ? c->first + c->n - before : 0; /* the same message as before */
    c->n_tokens = 0;
    return true;
}

void session_reset(struct session *s) { conversation_reset(s->conversation); }

bool session_undo(struct session *s)
{
    struct conversation *c = s->conversation;
    const size_t last = conversation_last_turn(c, c->n);
    if (last == c->n)
        return false;
    conversation_truncate(c, last);
    c->regenerations = 0;
    c->n_tokens = 0;
    if (c->first >= last) /* the turns before it were dropped: they fit again */
        c->first = 0;
    return true;
}

bool session_new(struct session *s, const char *name)
{
    const struct conversation *current = s->conversation;
    struct conversation *c = conversation_list_add(&s->conversations, name);
    const size_t n_system = c && current ? conversation_system_count(current) : 0;
    for (size_t i = 0; i < n_system; i++) {
        const char *text = current->messages[i].content;
        if (!conversation_add(c, "system", text, strlen(text))) {
            conversation_list_remove(&s->conversations, c);
            return false;
        }
    }
    if (c)
        s->conversation = c;
    return c != NULL;
}

bool session_close_conversation(struct session *s)
{
    struct conversation_list *list = &s->conversations;
    struct conversation *closed = s->conversation;
    size_t i = 0;
    if (list->n == 1 && !session_new(s, NULL))
        return false;
    while (list->items[i] != closed)
        i++;
    s->conversation = list->items[i ? i - 1 : 1];
    conversation_list_remove(list, closed);
    return true;
}

int session_load(struct session *s, const char *path)
{
    return conversation_load(path, s->conversation, &s->settings);
}
