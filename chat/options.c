/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - parses argv and the environment; --help and the list for the completion. */
#include "options.h"
#include "numbers.h"
#include "terminal.h"
#include <math.h>
#include <quire/cpu.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
    FLAG,
    TEXT,
    TEXTS,
    PATH,
    MODEL,
    REAL,
    INTEGER,
    COUNT,
    THREADS,
    SEED,
    BYTES,
    KV_TYPE,
    ISA,
    SAMPLERS,
    COMPUTE,
};

struct option_row {
    const char *section; /* not NULL: a heading, and nothing else is set */
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    const char *short_name, *name, *alias, *value, *help;
};

static const struct option_row rows[] = {
#define SECTION(title) { .section = (title) },
#define OPTION(kind, field, initial, short_name, name, alias, value, help)                         \
    { NULL, kind, offsetof(struct options, field), short_name, name, alias, value, help },
#include "options.def"
#undef SECTION
#undef OPTION
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct options defaults = {
#define SECTION(title)
#define OPTION(kind, field, initial, ...) .field = initial,
#include "options.def"
#undef SECTION
#undef OPTION
};

static bool set_compute(const char *value, enum quire_compute *out)
{
    const bool f32 = strcmp(value, "f32") == 0;
    *out = f32 ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    return f32 || strcmp(value, "native") == 0;
}

static bool add_text(struct text_list *list, const char *value)
{
    if (list->n == MAX_STOPS)
        return false;
    list->text[list->n++] = value;
    return true;
}

/* Parses and stores a value; false if the kind of the option does not allow it. */
static bool set_value(struct options *o, const struct option_row *row, const char *value)
{
    void *field = (char *)o + row->offset;
    int64_t integer;
    double real;
    uint8_t samplers[QUIRE_MAX_SAMPLERS];
    switch (row->kind) {
    case FLAG:
        *(OPTION_TYPE_FLAG *)field = true;
        return true;
    case TEXT:
    case PATH:
    case MODEL:
    case ISA:
        *(const char **)field = value;
        return true;
    case SAMPLERS:
        *(const char **)field = value;
        return quire_samplers_parse(value, samplers, NULL) == QUIRE_OK;
    case TEXTS:
        return add_text(field, value);
    case REAL:
        if (!parse_real(value, &real) || fabs(real) > 3e38)
            return false;
        *(float *)field = (float)real;
        return true;
    case INTEGER:
        if (!parse_integer(value, -1, INT32_MAX, &integer))
            return false;
        *(int32_t *)field = (int32_t)integer;
        return true;
    case THREADS:
    case COUNT:
        if (row->kind == THREADS && strcmp(value, "auto") == 0)
            value = "0";
        if (!parse_integer(value, 0, row->kind == THREADS ? 1024 : INT32_MAX, &integer))
            return false;
        *(uint32_t *)field = (uint32_t)integer;
        return true;
    case SEED:
        return parse_integer(value, -1, INT64_MAX, (int64_t *)field);
    case BYTES:
        return parse_bytes(value, (uint64_t *)field);
    case KV_TYPE:
        return quire_kv_dtype_parse(value, (enum quire_kv_dtype *)field, NULL) == QUIRE_OK;
    case COMPUTE:
        return set_compute(value, (enum quire_compute *)field);
    }
    return false;
}

static bool bad_value(const struct option_row *row, const char *source, const char *value)
{
    fprintf(stderr, "quire-chat: %s: '%s' is not a valid %s (%s)\n", source, value,
            row->value ? row->value : "value", row->help);
    return false;
}

static bool matches(const char *a, const char *b, size_t n)
{
    return a && strlen(a) == n && strncmp(a, b, n) == 0;
}

static const struct option_row *find_row(const char *arg, size_t n)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (matches(rows[i].short_name, arg, n) || matches(rows[i].name, arg, n) ||
            matches(rows[i].alias, arg, n))
            return &rows[i];
    return NULL;
}

static bool read_environment(struct options *o)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].section)
            continue;
        char name[64] = "QUIRE_ARG_";
        size_t n = strlen(name);
        for (const char *p = rows[i].name + 2; *p; p++)
            name[n++] = *p == '-' ? '_' : (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        name[n] = 0;
        const char *value = getenv(name);
        if (!value || !*value)
            continue;
        const bool off =
            strcmp(value, "0") == 0 || strcmp(value, "off") == 0 || strcmp(value, "false") == 0;
        if (rows[i].kind == FLAG && off)
            continue;
        if (!set_value(o, &rows[i], value))
            return bad_value(&rows[i], name, value);
    }
    return true;
}

/* Parses the option at argv[*i]; advances *i when the value is the next argument. */
static bool read_option(struct options *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    const struct option_row *row = find_row(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    if (!row) {
        fprintf(stderr, "quire-chat: unknown option '%s' (see --help)\n", arg);
        return false;
    }
    const char *value = equals ? equals + 1 : NULL;
    if (row->kind == FLAG && value) {
        fprintf(stderr, "quire-chat: %s takes no value\n", row->name);
        return false;
    }
    if (row->kind != FLAG && !value) {
        if (*i + 1 >= argc) {
            fprintf(stderr, "quire-chat: %s needs a value: %s\n", arg, row->value);
            return false;
        }
        value = argv[++*i];
    }
    return set_value(o, row, value) ? true : bad_value(row, row->name, value);
}

/* Any prompt of the command line overrides one from the environment, -p as well as -f. */
static bool read_arguments(struct options *o, int argc, char **argv)
{
    struct options args = *o;
    args.prompt = args.file = NULL;
    const char *plain = NULL;
    bool options_end = false;
    for (int i = 1; i < argc; i++) {
        if (!options_end && argv[i][0] == '-' && argv[i][1]) {
            options_end = strcmp(argv[i], "--") == 0;
            if (!options_end && !read_option(&args, argc, argv, &i))
                return false;
        } else if (plain) {
            fprintf(stderr, "quire-chat: unexpected argument '%s': put the prompt in quotes\n",
                    argv[i]);
            return false;
        } else {
            plain = argv[i];
        }
    }
    if (!!plain + !!args.prompt + !!args.file > 1) {
        fprintf(stderr, "quire-chat: give one prompt: -p, -f or a plain argument\n");
        return false;
    }
    if (plain)
        args.prompt = plain;
    if (!args.prompt && !args.file) {
        args.prompt = o->prompt;
        args.file = o->prompt ? NULL : o->file;
    }
    *o = args;
    return true;
}

static bool check_values(const struct options *o)
{
    if (o->max_tokens == 0)
        fprintf(stderr, "quire-chat: --predict: 0 tokens; give 1 or more, or -1 for no limit\n");
    if (o->dry_penalty_last_n == 0)
        fprintf(stderr,
                "quire-chat: --dry-penalty-last-n: 0 tokens; give 1 or more, or -1 for all; "
                "--dry-multiplier 0 turns DRY off\n");
    return o->max_tokens != 0 && o->dry_penalty_last_n != 0;
}

bool options_parse(struct options *o, int argc, char **argv)
{
    *o = defaults;
    return read_environment(o) && read_arguments(o, argc, argv) && check_values(o);
}

/* ---- Changes during a conversation */

static bool can_change(const struct option_row *row)
{
    const struct option_row *heading = row;
    while (!heading->section)
        heading--;
    return strcmp(heading->section, "Sampling") == 0 ||
           row->offset == offsetof(struct options, max_tokens);
}

/* The row of a name without dashes, such as top-p, top_p, n or predict, or with them. */
static const struct option_row *find_changeable(const char *name)
{
    char flag[64] = "--";
    size_t n = 2;
    for (name += strspn(name, "-"); *name && n + 1 < sizeof flag; name++)
        flag[n++] = *name == '_' ? '-' : *name;
    const struct option_row *row = find_row(flag, n);
    if (!row)
        row = find_row(flag + 1, n - 1);
    return row && can_change(row) ? row : NULL;
}

bool options_set(struct options *o, const char *name, const char *value)
{
    *o = defaults;
    const struct option_row *row = find_changeable(name);
    if (row)
        return set_value(o, row, value) ? check_values(o) : bad_value(row, row->name, value);
    struct text names = { 0 };
    for (size_t i = 0; i < N_ROWS; i++)
        if (!rows[i].section && can_change(&rows[i]))
            text_addf(&names, "%s%s", names.size ? ", " : "", rows[i].name + 2);
    print_message("/set: '%s' is none of %s", name, names.failed ? "its names" : names.data);
    text_free(&names);
    return false;
}

/* ---- Messages of the library */

static const struct {
    const char *field, *flag;
} flags_of_fields[] = {
    { "temperature", "--temp" },
    { "top_k", "--top-k" },
    { "top_p", "--top-p" },
    { "min_p", "--min-p" },
    { "repetition_penalty", "--repeat-penalty" },
    { "presence_penalty", "--presence-penalty" },
    { "frequency_penalty", "--frequency-penalty" },
    { "penalty_last_n", "--repeat-last-n" },
    { "dynatemp_range", "--dynatemp-range" },
    { "dynatemp_exponent", "--dynatemp-exp" },
    { "typical_p", "--typical" },
    { "top_n_sigma", "--top-n-sigma" },
    { "xtc_probability", "--xtc-probability" },
    { "xtc_threshold", "--xtc-threshold" },
    { "dry_multiplier", "--dry-multiplier" },
    { "dry_base", "--dry-base" },
    { "dry_allowed_length", "--dry-allowed-length" },
    { "mirostat", "--mirostat" },
    { "mirostat_tau", "--mirostat-ent" },
    { "mirostat_eta", "--mirostat-lr" },
    { "samplers", "--samplers" },
    { "context_length", "--ctx-size" },
    { "kv_bytes", "--kv-mem" },
    { "draft_model_path", "--draft-model" },
    { "draft_model", "--draft-model" },
    { "max_draft_tokens", "--draft-max" },
    { "n_threads", "--threads" },
    { "k_dtype", "--cache-type-k" },
    { "v_dtype", "--cache-type-v" },
    { "stop", "--stop" },
};

void options_add_message(struct text *out, const char *message)
{
    const size_t n = strcspn(message, " :[");
    for (size_t i = 0; i < sizeof flags_of_fields / sizeof flags_of_fields[0]; i++)
        if (matches(flags_of_fields[i].field, message, n)) {
            text_add(out, flags_of_fields[i].flag, strlen(flags_of_fields[i].flag));
            message += n;
            break;
        }
    text_add(out, message, strlen(message));
}

/* ---- Help */

/* Adds words of `line` from column `at`, broken at `width` and continued at column `indent`. */
static void add_wrapped(struct text *out, const char *line, unsigned at, unsigned indent,
                        unsigned width)
{
    for (const char *word = line; *word;) {
        const size_t n = strcspn(word, " ");
        if (at > indent && at + 1 + n > width) {
            text_addf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (word > line) {
            text_add(out, " ", 1);
            at++;
        }
        text_add(out, word, n);
        at += (unsigned)n;
        word += n + strspn(word + n, " ");
    }
    text_add(out, "\n", 1);
}

static void add_row(struct text *out, const struct option_row *r, unsigned width)
{
    enum { NAMES = 32, INDENT = 6, LEAST_HELP = 36 }; /* columns */
    char names[64];
    const int n =
        snprintf(names, sizeof names, "  %s%s%s%s%s", r->short_name ? r->short_name : "",
                 r->short_name ? ", " : "", r->name, r->value ? " " : "", r->value ? r->value : "");
    if (width < NAMES + LEAST_HELP) {
        text_addf(out, "%s\n%*s", names, INDENT, "");
        add_wrapped(out, r->help, INDENT, INDENT, width);
    } else {
        text_addf(out, "%-*s", NAMES, names);
        add_wrapped(out, r->help, n > NAMES ? (unsigned)n : NAMES, NAMES, width);
    }
}

void options_help(struct text *out, unsigned width)
{
    text_addf(out, "usage: quire-chat [options] [prompt]\n\n");
    add_wrapped(out,
                "Chats with a language model on the CPU. With a prompt it prints the answer and "
                "exits; without one it starts a conversation, or takes every line of standard "
                "input as one turn if that is not a terminal.",
                0, 0, width);
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i].section)
            text_addf(out, "\n%s:\n", rows[i].section);
        else if (rows[i].help)
            add_row(out, &rows[i], width);
    text_add(out, "\n", 1);
    add_wrapped(out,
                "Every option can be set as QUIRE_ARG_NAME in the environment (--ctx-size: "
                "QUIRE_ARG_CTX_SIZE); the command line overrides it. In a conversation, /help "
                "lists the commands.",
                0, 0, width);
}

/* Adds the COMPLETION field of an option: see options_list(). */
static void add_completion(struct text *out, enum option_kind kind)
{
    const char *name;
    switch (kind) {
    case PATH:
        text_addf(out, "file");
        return;
    case MODEL:
        text_addf(out, "model");
        return;
    case THREADS:
        text_addf(out, "auto");
        return;
    case COMPUTE:
        text_addf(out, "native f32");
        return;
    case KV_TYPE:
        for (int i = 0; (name = quire_kv_dtype_name((enum quire_kv_dtype)i)); i++)
            text_addf(out, "%s ", name);
        text_addf(out, "fp8 q8_0"); /* the aliases */
        return;
    case SAMPLERS:
        for (int i = 1; (name = quire_sampler_name(i)); i++)
            text_addf(out, i > 1 ? " %s" : "%s", name);
        return;
    case ISA:
        for (int i = 0; (name = quire_cpu_level_name(i)); i++)
            text_addf(out, i ? " %s" : "%s", name);
        return;
    default:
        return;
    }
}

void options_list(struct text *out)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct option_row *r = &rows[i];
        if (!r->help)
            continue;
        text_addf(out, "%s%s%s%s%s|%s|", r->short_name ? r->short_name : "",
                  r->short_name ? " " : "", r->name, r->alias ? " " : "", r->alias ? r->alias : "",
                  r->value ? r->value : "");
        add_completion(out, r->kind);
        text_add(out, "\n", 1);
    }
}
