/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the table of options, and reading it from argv and the environment. */
#include "options.h"
#include "numbers.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, TEXTS, REAL, INT32, COUNT, THREADS, SEED, BYTES, KV_TYPE, COMPUTE };

struct row {
    const char *short_name, *name, *alias; /* short_name and alias may be NULL */
    enum kind kind;
    size_t offset;
    const char *value, *help;
};

#define AT(field) offsetof(struct options, field)
/* The long names, also in the environment: --ctx-size is QUIRE_ARG_CTX_SIZE. */
static const struct row rows[] = {
    { "-m", "--model", NULL, TEXT, AT(model), "FILE",
      "GGUF file or Hugging Face folder (default: the bundled model)" },
    { "-p", "--prompt", NULL, TEXT, AT(prompt), "TEXT",
      "answer this and leave; a plain argument means the same" },
    { "-f", "--file", NULL, TEXT, AT(file), "FILE",
      "read the prompt from a file, - for standard input" },
    { "-sys", "--system-prompt", NULL, TEXT, AT(system), "TEXT",
      "instructions before the conversation" },
    { "-n", "--predict", "--n-predict", INT32, AT(max_tokens), "N",
      "tokens of an answer, -1 = no limit (default -1)" },
    { "-c", "--ctx-size", NULL, COUNT, AT(context), "N",
      "context in tokens; 0 = least of the model's, 8192 and what fits (default 0)" },
    { "-t", "--threads", NULL, THREADS, AT(threads), "N",
      "threads, auto = what this process may use (default auto)" },
    { "-s", "--seed", NULL, SEED, AT(seed), "N", "seed of the sampling, -1 = random (default -1)" },
    { NULL, "--temp", "--temperature", REAL, AT(temperature), "X",
      "temperature, 0 = most likely token (default 0.8)" },
    { NULL, "--top-k", NULL, INT32, AT(top_k), "N",
      "keep the N most likely tokens, 0 = all (default 40)" },
    { NULL, "--top-p", NULL, REAL, AT(top_p), "X",
      "keep the likeliest tokens of this mass, 1 = all (default 0.95)" },
    { NULL, "--min-p", NULL, REAL, AT(min_p), "X",
      "drop tokens below this fraction of the best (default 0.05)" },
    { NULL, "--repeat-penalty", NULL, REAL, AT(repeat_penalty), "X",
      "divide repeated tokens, 1 = off (default 1)" },
    { NULL, "--repeat-last-n", NULL, INT32, AT(repeat_last_n), "N",
      "tokens the penalties look back, -1 = all (default 64)" },
    { NULL, "--presence-penalty", NULL, REAL, AT(presence_penalty), "X",
      "subtract from tokens seen (default 0)" },
    { NULL, "--frequency-penalty", NULL, REAL, AT(frequency_penalty), "X",
      "subtract for each time seen (default 0)" },
    { "-r", "--stop", "--reverse-prompt", TEXTS, AT(stop), "TEXT",
      "end the answer before this text; may be repeated" },
    { NULL, "--ignore-eos", NULL, FLAG, AT(ignore_eos), NULL,
      "go on past the end of the answer, up to -n tokens" },
    { "-ctk", "--cache-type-k", NULL, KV_TYPE, AT(k_type), "TYPE",
      "storage of keys: f32, f16, bf16, fp8 (= fp8_e4m3), fp8_e5m2, int8 (= q8_0) (default f16)" },
    { "-ctv", "--cache-type-v", NULL, KV_TYPE, AT(v_type), "TYPE",
      "storage of values, as -ctk (default f16)" },
    { NULL, "--kv-mem", NULL, BYTES, AT(kv_mem), "SIZE",
      "memory for the cache, e.g. 4G (default half of what is free)" },
    { NULL, "--pack-cache", NULL, TEXT, AT(pack_cache), "FILE",
      "keep the packed weights in this file, for quicker starts" },
    { NULL, "--mlock", NULL, FLAG, AT(mlock), NULL,
      "keep model and cache in memory, all of it from the start" },
    { NULL, "--isa", NULL, TEXT, AT(isa), "NAME", "exactly this instruction set (see --cpu)" },
    { NULL, "--compute", NULL, COMPUTE, AT(compute), "MODE", "native or f32 (default native)" },
    { NULL, "--chat-template-file", NULL, TEXT, AT(template_file), "FILE",
      "Jinja template in place of the model's" },
    { "-no-cnv", "--no-cnv", "--no-conversation", FLAG, AT(raw), NULL,
      "no chat template: continue the text as it is" },
    { "-i", "--interactive", NULL, FLAG, AT(interactive), NULL,
      "go on with a conversation after the prompt" },
    { NULL, "--no-wrap", "--nowordwrap", FLAG, AT(no_wrap), NULL,
      "on a terminal, do not break lines between words" },
    { NULL, "--json", NULL, FLAG, AT(json), NULL, "one JSON object per event and line" },
    { NULL, "--cpu", NULL, FLAG, AT(cpu), NULL,
      "show the CPU and the kernels chosen for it, and leave" },
    { NULL, "--dry-run", NULL, FLAG, AT(dry_run), NULL,
      "show the memory everything would take, and leave" },
    { "-v", "--verbose", NULL, FLAG, AT(verbose), NULL, "tell more on standard error" },
    { "-h", "--help", NULL, FLAG, AT(help), NULL, "show this, and leave" },
    { NULL, "--version", NULL, FLAG, AT(version), NULL, "show the version, and leave" },
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static bool set_compute(const char *value, enum quire_compute *out)
{
    const bool f32 = strcmp(value, "f32") == 0;
    *out = f32 ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    return f32 || strcmp(value, "native") == 0;
}

static bool add_stop(struct options *o, const char *value)
{
    if (o->n_stop == MAX_STOPS)
        return false;
    o->stop[o->n_stop++] = value;
    return true;
}

/* Stores a value; false when it is not of the row's kind. */
static bool set_value(struct options *o, const struct row *row, const char *value)
{
    void *field = (char *)o + row->offset;
    int64_t integer;
    double real;
    switch (row->kind) {
    case FLAG:
        *(bool *)field = true;
        return true;
    case TEXT:
        *(const char **)field = value;
        return true;
    case TEXTS:
        return add_stop(o, value);
    case REAL:
        if (!parse_real(value, &real) || fabs(real) > 3e38)
            return false;
        *(float *)field = (float)real;
        return true;
    case INT32:
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

static bool bad_value(const struct row *row, const char *source, const char *value)
{
    fprintf(stderr, "quire-chat: %s: '%s' is no valid %s (%s)\n", source, value,
            row->value ? row->value : "value", row->help);
    return false;
}

static bool same(const char *a, const char *b, size_t n)
{
    return a && strlen(a) == n && strncmp(a, b, n) == 0;
}

static const struct row *find_row(const char *arg, size_t n)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (same(rows[i].short_name, arg, n) || same(rows[i].name, arg, n) ||
            same(rows[i].alias, arg, n))
            return &rows[i];
    return NULL;
}

static bool read_environment(struct options *o)
{
    for (size_t i = 0; i < N_ROWS; i++) {
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

/* The argument at argv[*i] and its value, which may be the next argument; moves *i past what it
 * used. */
static bool read_option(struct options *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    const struct row *row = find_row(arg, equals ? (size_t)(equals - arg) : strlen(arg));
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

/* A prompt from the environment gives way to any prompt of the command line. */
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

bool options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){
        .max_tokens = -1,
        .seed = -1,
        .k_type = QUIRE_KV_F16,
        .v_type = QUIRE_KV_F16,
        .compute = QUIRE_COMPUTE_NATIVE,
        .temperature = NAN,
        .top_p = NAN,
        .min_p = NAN,
        .repeat_penalty = NAN,
        .presence_penalty = NAN,
        .frequency_penalty = NAN,
        .top_k = NOT_GIVEN,
        .repeat_last_n = NOT_GIVEN,
    };
    if (!read_environment(o) || !read_arguments(o, argc, argv))
        return false;
    if (o->max_tokens == 0) {
        fprintf(stderr, "quire-chat: --predict: an answer has at least 1 token; -1 = no limit\n");
        return false;
    }
    return true;
}

void options_help(struct text *out)
{
    text_addf(out, "usage: quire-chat [options] [prompt]\n\n");
    text_addf(
        out,
        "Talks with a language model on the CPU. With a prompt it answers and leaves; without one "
        "it\n"
        "starts a conversation, or takes each line of standard input as one turn when that is no\n"
        "terminal.\n\n");
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", r->short_name ? r->short_name : "",
                 r->short_name ? ", " : "", r->name, r->value ? " " : "", r->value ? r->value : "");
        text_addf(out, "  %-31s %s\n", left, r->help);
    }
    text_addf(out, "\nEvery option can be set as QUIRE_ARG_NAME in the environment (--ctx-size: "
                   "QUIRE_ARG_CTX_SIZE);\n"
                   "the command line wins. In a conversation, /help lists the commands.\n");
}
