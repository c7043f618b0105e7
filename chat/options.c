/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of quire-chat: values, arguments, --help. */
#include "options.h"
#include "numbers.h"
#include "option_table.h"
#include "terminal.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
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
    POOLING,
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

static bool set_value(void *options, const struct option_row *row, const char *value);
static const struct option_table table = { "quire-chat", rows, N_ROWS, set_value };

static const struct options defaults = {
#define SECTION(title)
#define OPTION(kind, field, initial, ...) .field = initial,
#include "options.def"
#undef SECTION
#undef OPTION
};

/* Gets the index of a value in a list of names. */
static bool find_name(const char *const *names, int n, const char *value, int *index)
{
    for (*index = 0; *index < n; ++*index)
        if (strcmp(value, names[*index]) == 0)
            return true;
    return false;
}

static bool set_compute(const char *value, enum quire_compute *out)
{
    static const char *const modes[] = {
        [QUIRE_COMPUTE_NATIVE] = "native",
        [QUIRE_COMPUTE_F32] = "f32",
        [QUIRE_COMPUTE_THROUGHPUT] = "throughput",
    };
    int i;
    const bool found = find_name(modes, sizeof modes / sizeof *modes, value, &i);
    if (found)
        *out = (enum quire_compute)i;
    return found;
}

static bool set_pooling(const char *value, enum quire_pooling *out)
{
    static const char *const names[] = {
        [QUIRE_POOLING_CLS] = "cls",
        [QUIRE_POOLING_MEAN] = "mean",
        [QUIRE_POOLING_LAST] = "last",
        [QUIRE_POOLING_POOLER] = "pooler",
    };
    int i;
    const bool found = find_name(names, sizeof names / sizeof *names, value, &i);
    if (found)
        *out = (enum quire_pooling)i;
    return found;
}

static bool add_text(struct text_list *list, const char *value)
{
    if (list->n == MAX_STOPS)
        return false;
    list->text[list->n++] = value;
    return true;
}

/* option_table.set */
static bool set_value(void *options, const struct option_row *row, const char *value)
{
    void *field = (char *)options + row->offset;
    int64_t integer;
    double real;
    uint8_t samplers[QUIRE_MAX_SAMPLERS];
    switch ((enum option_kind)row->kind) {
    case FLAG:
        *(OPTION_TYPE_FLAG *)field = *value == '1';
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
    case POOLING:
        return set_pooling(value, (enum quire_pooling *)field);
    }
    return false;
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
            if (!options_end && !option_table_read_argument(&table, &args, argc, argv, &i))
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

/* The options of embeddings and scores. */
static bool check_vectors(const struct options *o)
{
    const char *lonely = o->pooling != QUIRE_POOLING_DEFAULT ? "--pooling"
                         : o->dimensions                     ? "--dimensions"
                         : o->no_normalize                   ? "--no-normalize"
                                                             : NULL;
    if (o->embed && o->rerank)
        fprintf(stderr, "quire-chat: give one of --embed and --rerank\n");
    else if (lonely && !o->embed)
        fprintf(stderr, "quire-chat: %s has no effect without --embed\n", lonely);
    else if (o->interactive && (o->embed || o->rerank))
        fprintf(stderr, "quire-chat: --interactive is for conversations, not for %s\n",
                o->embed ? "--embed" : "--rerank");
    else if (o->rerank && !*o->rerank)
        fprintf(stderr, "quire-chat: --rerank: the query is empty\n");
    else
        return true;
    return false;
}

static bool check_values(const struct options *o)
{
    if (o->max_tokens == 0)
        fprintf(stderr, "quire-chat: --predict: 0 tokens; give 1 or more, or -1 for no limit\n");
    if (o->dry_penalty_last_n == 0)
        fprintf(stderr,
                "quire-chat: --dry-penalty-last-n: 0 tokens; give 1 or more, or -1 for all; "
                "--dry-multiplier 0 turns DRY off\n");
    if (o->think && o->no_think)
        fprintf(stderr, "quire-chat: give one of --think and --no-think\n");
    return o->max_tokens != 0 && o->dry_penalty_last_n != 0 && !(o->think && o->no_think) &&
           check_vectors(o);
}

bool options_parse(struct options *o, int argc, char **argv)
{
    *o = defaults;
    return option_table_read_environment(&table, o) && read_arguments(o, argc, argv) &&
           check_values(o);
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
    const struct option_row *row = option_table_find(&table, flag, n);
    if (!row)
        row = option_table_find(&table, flag + 1, n - 1);
    return row && can_change(row) ? row : NULL;
}

bool options_set(struct options *o, const char *name, const char *value)
{
    *o = defaults;
    const struct option_row *row = find_changeable(name);
    if (row)
        return option_table_set(&table, o, row, value)
                   ? check_values(o)
                   : option_table_bad_value(&table, row, row->name, value);
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
    { "QUIRE_ENGINE_MTP", "--mtp" },
    { "max_draft_tokens", "--draft-max" },
    { "n_threads", "--threads" },
    { "k_dtype", "--cache-type-k" },
    { "v_dtype", "--cache-type-v" },
    { "stop", "--stop" },
    { "pooling", "--pooling" },
    { "dimensions", "--dimensions" },
    { "text_pair", "the text" },
};

void options_add_message(struct text *out, const char *message)
{
    const size_t n = strcspn(message, " :[");
    for (size_t i = 0; i < sizeof flags_of_fields / sizeof flags_of_fields[0]; i++)
        if (strlen(flags_of_fields[i].field) == n &&
            strncmp(flags_of_fields[i].field, message, n) == 0) {
            text_add(out, flags_of_fields[i].flag, strlen(flags_of_fields[i].flag));
            message += n;
            break;
        }
    text_add(out, message, strlen(message));
}

/* ---- Help */

void options_help(FILE *out)
{
    const unsigned width = option_table_help_width();
    fprintf(out, "usage: quire-chat [options] [prompt]\n\n");
    option_table_print_wrapped(
        out,
        "Chats with a language model on the CPU. With a prompt it prints the answer and exits; "
        "without one it starts a conversation, or takes every line of standard input as one turn "
        "if that is not a terminal.",
        width);
    option_table_print_rows(&table, out, width);
    fputc('\n', out);
    option_table_print_wrapped(
        out,
        "Every option can be set as QUIRE_ARG_NAME in the environment (--ctx-size: "
        "QUIRE_ARG_CTX_SIZE); the command line overrides it. In a conversation, /help lists the "
        "commands.",
        width);
}

/* COMPLETION of an option: see option_table_print_list(). */
static void print_completion(FILE *out, int kind)
{
    const char *name;
    switch ((enum option_kind)kind) {
    case PATH:
        fputs("file", out);
        return;
    case MODEL:
        fputs("model", out);
        return;
    case THREADS:
        fputs("auto", out);
        return;
    case COMPUTE:
        fputs("native f32 throughput", out);
        return;
    case POOLING:
        fputs("mean cls last pooler", out);
        return;
    case KV_TYPE:
        option_table_print_kv_types(out);
        return;
    case SAMPLERS:
        for (int i = 1; (name = quire_sampler_name(i)); i++)
            fprintf(out, i > 1 ? " %s" : "%s", name);
        return;
    case ISA:
        option_table_print_isa_levels(out);
        return;
    default:
        return;
    }
}

void options_list(FILE *out) { option_table_print_list(&table, out, print_completion); }
