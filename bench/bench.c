/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - quire-bench: options and the choice of a command. */
#include "bench.h"
#include <quire/cpu.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(const struct bench_options *o);
    const char *usage;
} commands[] = {
    { "roofline", bench_roofline,
      "peak rates of every level, read bandwidth of every cache, cost of barrier and region" },
    { "linear", bench_linear, "packed matrix products: --types --shapes NxK -M" },
    { "attention", bench_attention,
      "attention: --shapes NAME -p (prefill) -d (decode) -p with -d (prefill behind cached keys) "
      "-b (decode; above 1: shared prompts too) -ctk -ctv --shuffle" },
    { "overhead", bench_overhead, "barrier, plan, KV append, sampler" },
#ifdef QUIRE_WITH_TEXT
    { "model", bench_model,
      "-m FILE: prompt (-p) and generation (-n) rates at depths (-d) and batch sizes (-b)" },
    { "synth", bench_synth,
      "--arch NAME --type TYPE -o FILE.gguf: random weights in a real model's shape" },
    { "compare", bench_compare,
      "--peer PROGRAM -m FILE [-- ARGS]: interleaved with a peer's llama-bench" },
    { "start", bench_start_times,
      "-m FILE [--pack-cache FILE] [--peer PROGRAM]: from exec to the first token" },
    { "neighbour", bench_neighbour,
      "-m FILE [--peer PROGRAM]: generation beside a process that keeps a processor busy" },
    { "targets", bench_targets,
      "-m FILE [--full] [--pack-cache FILE] [--peer PROGRAM]: everything there is a target for" },
    { "first-token", bench_first_token,
      "-m FILE [--pack-cache FILE] [-n N]: what start and neighbour run" },
#endif
};

enum kind { TEXT, NUMBER, LIST, FLAG };

#define OPTION(name, short_name, kind, field, help)                                                \
    {                                                                                              \
        name, short_name, kind, offsetof(struct bench_options, field), help                        \
    }
static const struct {
    const char *name, *short_name;
    enum kind kind;
    size_t offset;
    const char *help;
} options[] = {
    OPTION("--isa", NULL, TEXT, isa, "exact instruction-set level (default: best)"),
    OPTION("--threads", "-t", LIST, threads, "thread counts (default: what the machine gives)"),
    OPTION("--repetitions", "-r", NUMBER, reps, "rounds of each measurement"),
    OPTION("--quick", NULL, FLAG, quick, "few rounds and shapes: does it work, not how fast is it"),
    OPTION("--compute", NULL, TEXT, compute, "native, f32, or both as a list"),
    OPTION("--types", NULL, TEXT, types, "weight types"),
    OPTION("--shapes", NULL, TEXT, shapes, "NxK (linear) or model names (attention)"),
    OPTION("--rows", "-M", LIST, m, "rows of activations"),
    OPTION("--n-prompt", "-p", LIST, prompts, "prompt lengths"),
    OPTION("--n-gen", "-n", LIST, gens, "tokens to generate"),
    OPTION("--n-depth", "-d", LIST, depths, "tokens already cached"),
    OPTION("--batch", "-b", LIST, batches, "sequences at once"),
    OPTION("--chunk", NULL, NUMBER, chunk, "tokens of a prompt per step (default 512)"),
    OPTION("--cache-type-k", "-ctk", TEXT, k_types,
           "f32 bf16 f16 fp8_e4m3 fp8_e5m2 int8, as a list"),
    OPTION("--cache-type-v", "-ctv", TEXT, v_types, "one for each of -ctk (default: the same)"),
    OPTION("--shuffle", NULL, FLAG, shuffle, "block ids in random order"),
    OPTION("--full", NULL, FLAG, full, "targets: deeper contexts as well"),
    OPTION("--onednn", NULL, FLAG, onednn, "linear: bf16 and f32 weights held by oneDNN"),
    OPTION("--seed", NULL, NUMBER, seed, "of the random data"),
    OPTION("--model", "-m", TEXT, model, "GGUF file or Hugging Face folder"),
    OPTION("--arch", NULL, TEXT, arch, "shape of the model to write"),
    OPTION("--type", NULL, TEXT, type, "weight type of the model to write"),
    OPTION("--layers", NULL, NUMBER, layers, "write fewer layers than the real model has"),
    OPTION("--output", "-o", TEXT, output, "file to write"),
    OPTION("--pack-cache", NULL, TEXT, pack_cache, "file that keeps the packed weights of -m"),
    OPTION("--peer", NULL, TEXT, peer, "benchmark program to compare with"),
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int usage(FILE *to)
{
    fprintf(to, "usage: quire-bench COMMAND [options]\n\ncommands:\n");
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].usage);
    fprintf(to, "\noptions (lists are comma-separated):\n");
    for (size_t i = 0; i < COUNT(options); i++)
        fprintf(to, "  %-5s%-17s %s\n", options[i].short_name ? options[i].short_name : "",
                options[i].name, options[i].help);
    fprintf(to, "  --json, --csv          instead of Markdown\n"
                "exit: 0 done, 1 a result is wrong, 64 usage, 65 bad data, 66 no such file, 69 "
                "unavailable\n");
    return to == stderr ? 64 : 0;
}

int bench_fail(const char *what, quire_status status, const struct quire_error *err)
{
    static const uint8_t codes[] = {
        [QUIRE_E_INVALID_ARG] = 64, [QUIRE_E_FORMAT] = 65,  [QUIRE_E_CORRUPT] = 65,
        [QUIRE_E_MISMATCH] = 65,    [QUIRE_E_IO] = 66,      [QUIRE_E_UNSUPPORTED] = 69,
        [QUIRE_E_NOMEM] = 75,       [QUIRE_E_INTERNAL] = 70
    };
    fprintf(stderr, "quire-bench: %s: %s\n", what,
            err && err->msg[0] ? err->msg : quire_status_text(status));
    return status < COUNT(codes) && codes[status] ? codes[status] : 70;
}

int bench_error(int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("quire-bench: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

/* ---- words and numbers */

bool bench_next_word(const char **text, char *out, size_t size)
{
    if (!*text || !**text)
        return false;
    const size_t n = strcspn(*text, ",");
    if (n >= size)
        return false;
    memcpy(out, *text, n);
    out[n] = 0;
    *text += n + ((*text)[n] == ',');
    return true;
}

static bool parse_number(const char *text, uint32_t *out)
{
    char *end;
    const unsigned long v = strtoul(text, &end, 10);
    *out = (uint32_t)v;
    return *text >= '0' && *text <= '9' && !*end && v <= INT32_MAX;
}

static bool parse_list(const char *text, struct bench_list *list)
{
    char word[16];
    list->n = 0;
    while (list->n < BENCH_LIST_MAX && bench_next_word(&text, word, sizeof word))
        if (!parse_number(word, &list->v[list->n++]))
            return false;
    return list->n > 0 && !*text;
}

struct bench_list bench_list_or(const struct bench_list *list, const char *dflt)
{
    struct bench_list out = *list;
    if (!out.n)
        (void)parse_list(dflt, &out);
    return out;
}

const char *bench_compute_name(enum quire_compute compute)
{
    return compute == QUIRE_COMPUTE_F32 ? "f32" : "native";
}

unsigned bench_compute_modes(const struct bench_options *o, const char *dflt,
                             enum quire_compute modes[2])
{
    const char *text = o->compute ? o->compute : dflt;
    char word[16];
    unsigned n = 0;
    while (n < 2 && bench_next_word(&text, word, sizeof word)) {
        modes[n] = strcmp(word, "f32") ? QUIRE_COMPUTE_NATIVE : QUIRE_COMPUTE_F32;
        if (strcmp(word, bench_compute_name(modes[n++])) != 0)
            return bench_error(64, "--compute %s: native or f32", word), 0u;
    }
    return n;
}

/* ---- the command line */

/* Takes argv[*i] and its value; false if it is no option or the value does not fit. */
static bool take_option(struct bench_options *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    if (!strcmp(arg, "--json") || !strcmp(arg, "--csv"))
        return o->format = strcmp(arg, "--csv") ? BENCH_JSON : BENCH_CSV, true;
    for (size_t k = 0; k < COUNT(options); k++) {
        if (strcmp(arg, options[k].name) != 0 &&
            (!options[k].short_name || strcmp(arg, options[k].short_name) != 0))
            continue;
        void *field = (char *)o + options[k].offset;
        if (options[k].kind == FLAG)
            return *(bool *)field = true;
        const char *value = ++*i < argc ? argv[*i] : NULL;
        if (!value)
            return false;
        if (options[k].kind == TEXT)
            return *(const char **)field = value, true;
        return options[k].kind == NUMBER ? parse_number(value, field) : parse_list(value, field);
    }
    return false;
}

bool bench_options_add(struct bench_options *o, char *words)
{
    enum { WORDS_MAX = 32 };
    char *argv[WORDS_MAX], *save = NULL;
    int argc = 0;
    for (char *w = strtok_r(words, " ", &save); w && argc < WORDS_MAX;
         w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    for (int i = 0; i < argc; i++)
        if (!take_option(o, argc, argv, &i))
            return false;
    return true;
}

/* libgomp lets idle members of a team spin for milliseconds, which takes a shared machine's processors from the members
 * that work, and counts as processor time. It reads its environment before main, so this program starts itself once
 * more with a bound of about half a millisecond. Not for comparisons: there, everyone runs as users run it. */
static void bound_spinning(char **argv)
{
    static const char name[] = "GOMP_SPINCOUNT", value[] = "20000",
                      mark[] = "QUIRE_BENCH_RESTARTED";
    if (getenv(mark)) {
        unsetenv(mark), unsetenv(name); /* it has been read; what we start runs as users run it */
    } else if (!getenv(name) && !getenv("OMP_WAIT_POLICY") && !setenv(name, value, 1) &&
               !setenv(mark, "1", 1)) {
        execv("/proc/self/exe", argv);
        unsetenv(mark);
    }
}

int main(int argc, char **argv)
{
    static const char *const as_users_run[] = { "compare", "start", "first-token", "neighbour" };
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* refused: the levels below remain */
    bool bound = argc > 1;
    for (size_t i = 0; bound && i < COUNT(as_users_run); i++)
        bound = strcmp(argv[1], as_users_run[i]) != 0;
    if (bound)
        bound_spinning(argv);
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return usage(argc < 2 ? stderr : stdout);
    struct bench_options o = { .seed = 1 };
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            o.n_peer_args = argc - i - 1;
            o.peer_args = argv + i + 1;
            break;
        }
        const int at = i;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return usage(stdout);
        if (!take_option(&o, argc, argv, &i))
            return bench_error(64, "bad option %s%s%s", argv[at], i > at && i < argc ? " " : "",
                               i > at && i < argc ? argv[i] : "");
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < COUNT(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(&o);
    bench_error(64, "there is no command %s", argv[1]);
    return usage(stderr);
}
