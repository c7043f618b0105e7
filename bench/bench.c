/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - quire-bench: parses options and dispatches to a command. */
#include "bench.h"
#include "../chat/file_faults.h"
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
      "peak compute rate of every ISA level, read bandwidth of every cache, barrier and region" },
    { "linear", bench_linear, "GEMV and GEMM with packed weights: --types --shapes NxK -M" },
    { "attention", bench_attention,
      "--shapes NAME -p (prefill) -d (decode), -p with -d (prefill at depth), "
      "-b (decode batch; above 1 also with a shared prefix), -ctk -ctv --shuffle" },
    { "overhead", bench_overhead, "cost of barrier, plan, KV append and sampler" },
#ifdef QUIRE_WITH_TEXT
    { "model", bench_model,
      "-m FILE: prefill (-p) and decode (-n) rates at depths (-d) and batch sizes (-b)" },
    { "adapter", bench_adapter,
      "-m FILE --lora FILE: time that adapters add to a step, with -p, -n, -d and -b as for "
      "model" },
    { "synth", bench_synth,
      "--arch NAME --type TYPE -o FILE.gguf: the shape of a real model, random weights; with "
      "--lora-rank an adapter for it" },
    { "compare", bench_compare,
      "--peer PROGRAM -m FILE [-- ARGS]: interleaved rounds with a llama-bench" },
    { "start", bench_start,
      "-m FILE [--pack-cache FILE] [--peer PROGRAM]: cold start, from exec to the first token" },
    { "contention", bench_contention,
      "-m FILE [--peer PROGRAM]: decode rate while another process occupies one CPU" },
    { "targets", bench_targets,
      "-m FILE [--full] [--pack-cache FILE] [--peer PROGRAM]: every result with a target" },
    { "serve", bench_serve,
      "-m FILE | --synth SHAPE | --url URL: plays a stream of requests; --scenario NAME or --rate, "
      "--concurrency, --trace" },
    { "first-token", bench_first_token,
      "-m FILE [--pack-cache FILE] [-n N]: the process that start and contention run" },
#endif
};

enum kind { TEXT, NUMBER, REAL, LIST, FLAG };

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
    OPTION("--isa", NULL, TEXT, isa, "exact ISA level (default: best)"),
    OPTION("--threads", "-t", LIST, threads, "thread counts (default: of the machine)"),
    OPTION("--repetitions", "-r", NUMBER, reps, "rounds of each measurement"),
    OPTION("--quick", NULL, FLAG, quick, "few rounds and small shapes, to test the commands"),
    OPTION("--compute", NULL, TEXT, compute, "native, f32, throughput, or several as a list"),
    OPTION("--types", NULL, TEXT, types, "weight types, or all"),
    OPTION("--shapes", NULL, TEXT, shapes, "NxK (linear) or model names (attention)"),
    OPTION("--rows", "-M", LIST, m, "M, rows of activations"),
    OPTION("--n-prompt", "-p", LIST, prompts, "prompt lengths"),
    OPTION("--n-gen", "-n", LIST, gens, "tokens to generate"),
    OPTION("--n-depth", "-d", LIST, depths, "cached tokens before the test"),
    OPTION("--batch", "-b", LIST, batches, "sequences in a batch"),
    OPTION("--chunk", NULL, NUMBER, chunk, "prompt tokens per step (default 512)"),
    OPTION("--cache-type-k", "-ctk", TEXT, k_types,
           "f32 bf16 f16 fp8_e4m3 fp8_e5m2 int8 int4, as a list"),
    OPTION("--cache-type-v", "-ctv", TEXT, v_types, "one per entry of -ctk (default: the same)"),
    OPTION("--bf16-states", NULL, FLAG, bf16_states, "recurrent states in bf16 instead of f32"),
    OPTION("--shuffle", NULL, FLAG, shuffle, "random order of block ids"),
    OPTION(
        "--cold", NULL, NUMBER, cold,
        "MiB between two uses of the same weights, keys and values (default: 4 L3, 128 or more)"),
    OPTION("--full", NULL, FLAG, full, "targets: more shapes and deeper contexts"),
    OPTION("--onednn", NULL, FLAG, onednn, "linear: oneDNN for bf16 and f32 weights"),
    OPTION("--seed", NULL, NUMBER, seed, "seed of the random data"),
    OPTION("--scenario", NULL, TEXT, scenario,
           "serve: mixed, shared-prefix, long-arrival or batch1; other options override its own"),
    OPTION("--requests", NULL, NUMBER, requests, "serve: number of requests (default 32)"),
    OPTION("--rate", NULL, REAL, rate, "serve: Poisson arrivals per second (default: all at once)"),
    OPTION("--concurrency", NULL, NUMBER, concurrency, "serve: users, one request each at a time"),
    OPTION("--prompt-len", NULL, TEXT, prompt_len,
           "serve: tokens, A-B (uniform) or MEAN,SD (log-normal); default 128-1024"),
    OPTION("--answer-len", NULL, TEXT, answer_len, "serve: the same; default 64-256"),
    OPTION("--shared-prefix", NULL, NUMBER, shared_prefix,
           "serve: tokens before each prompt that a group has in common"),
    OPTION("--groups", NULL, NUMBER, groups, "serve: groups of requests (default 1)"),
    OPTION("--trace", NULL, TEXT, trace,
           "serve: JSON lines with arrival, prompt_tokens, answer_tokens, prefix_group"),
    OPTION("--max-seqs", NULL, NUMBER, max_seqs, "serve: sequences that run at a time"),
    OPTION("--cache-tokens", NULL, NUMBER, cache_tokens, "serve: capacity of the KV cache"),
    OPTION("--draft-model", "-md", TEXT, draft_model,
           "serve: smaller model with the same vocabulary that drafts up to 16 tokens per step"),
    OPTION("--json-schema", NULL, TEXT, json_schema,
           "serve: file with a JSON Schema that all answers follow; they may end early"),
    OPTION("--target-itl", NULL, REAL, target_itl, "serve: target inter-token latency in ms"),
    OPTION("--slo-ttft", NULL, REAL, slo_ttft, "serve: limit of the time to first token in ms"),
    OPTION("--slo-itl", NULL, REAL, slo_itl, "serve: limit of the mean inter-token latency in ms"),
    OPTION("--url", NULL, TEXT, url, "serve: an OpenAI-compatible server, http://HOST:PORT"),
    OPTION("--vocab", NULL, NUMBER, vocab, "serve --url: ids of prompts are below (default 32000)"),
    OPTION("--text-prompts", NULL, FLAG, text_prompts, "serve --url: text instead of token ids"),
    OPTION("--synth", NULL, TEXT, synth, "serve: shape of a model with random weights, see --type"),
    OPTION("--model", "-m", TEXT, model, "GGUF file or Hugging Face folder"),
    OPTION("--arch", NULL, TEXT, arch, "shape of the model to write"),
    OPTION("--type", NULL, TEXT, type, "weight type of the model to write"),
    OPTION("--layers", NULL, NUMBER, layers, "write fewer layers than the real model has"),
    OPTION("--lora", NULL, TEXT, lora, "adapter: GGUF file or PEFT folder"),
    OPTION("--lora-rank", NULL, NUMBER, lora_rank, "synth: write an adapter of this rank"),
    OPTION("--output", "-o", TEXT, output, "file to write"),
    OPTION("--pack-cache", NULL, TEXT, pack_cache, "cache file of the packed weights of -m"),
    OPTION("--peer", NULL, TEXT, peer, "llama-bench to compare with"),
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
                "not supported\n");
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

/* ---- option values */

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

/* A number >= 0; "inf" is 0, which means unlimited. */
static bool parse_real(const char *text, double *out)
{
    char *end;
    *out = 0;
    if (!strcmp(text, "inf"))
        return true;
    *out = strtod(text, &end);
    return ((*text >= '0' && *text <= '9') || *text == '.') && !*end && *out <= 1e9;
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
    static const char *const names[] = {
        [QUIRE_COMPUTE_NATIVE] = "native",
        [QUIRE_COMPUTE_F32] = "f32",
        [QUIRE_COMPUTE_THROUGHPUT] = "throughput",
    };
    return names[compute];
}

unsigned bench_compute_modes(const struct bench_options *o, const char *dflt,
                             enum quire_compute modes[3])
{
    const char *text = o->compute ? o->compute : dflt;
    char word[16];
    unsigned n = 0;
    while (n < 3 && bench_next_word(&text, word, sizeof word)) {
        int mode = QUIRE_COMPUTE_NATIVE;
        while (mode <= QUIRE_COMPUTE_THROUGHPUT &&
               strcmp(word, bench_compute_name((enum quire_compute)mode)) != 0)
            mode++;
        if (mode > QUIRE_COMPUTE_THROUGHPUT)
            return bench_error(64, "--compute %s: native, f32 or throughput", word), 0u;
        modes[n++] = (enum quire_compute)mode;
    }
    return n;
}

/* ---- the command line */

/* Parses option argv[*i] and its value. Returns false for an unknown option or a bad value. */
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
        if (options[k].kind == REAL)
            return parse_real(value, field);
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

/* Limits the spinning of idle libgomp threads to about 0.5 ms. The default is milliseconds: on a
 * shared machine they take CPUs from the working threads and add CPU time. libgomp reads its
 * environment before main(), so the program sets it and executes itself again. */
static void bound_spinning(char **argv)
{
    static const char name[] = "GOMP_SPINCOUNT", value[] = "20000",
                      mark[] = "QUIRE_BENCH_RESTARTED";
    if (getenv(mark)) {
        unsetenv(mark), unsetenv(name); /* already read; child processes run with the default */
    } else if (!getenv(name) && !getenv("OMP_WAIT_POLICY") && !setenv(name, value, 1) &&
               !setenv(mark, "1", 1)) {
        execv("/proc/self/exe", argv);
        unsetenv(mark);
    }
}

int main(int argc, char **argv)
{
    /* comparisons run both programs with default settings */
    static const char *const default_spinning[] = { "compare", "start", "first-token",
                                                    "contention" };
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* on failure the levels below AMX remain */
    file_faults_install("quire-bench", NULL);
    bool bound = argc > 1;
    for (size_t i = 0; bound && i < COUNT(default_spinning); i++)
        bound = strcmp(argv[1], default_spinning[i]) != 0;
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
    bench_error(64, "unknown command %s", argv[1]);
    return usage(stderr);
}
