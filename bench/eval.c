/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - quire-eval: parses options and dispatches to a command. */
#include "eval.h"
#include "../chat/file_faults.h"
#include "eval_options.h"
#include <quire/cpu.h>
#include <quire/onednn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(const struct eval_options *o);
    const char *usage;
} commands[] = {
    { "golden", eval_golden,
      "DIR...  |  --gguf FILE [DIR]    compare logits and greedy tokens with reference tensors" },
    { "attention", eval_attention,
      "FILE.json    compare paged attention with stored cases (needs FILE.safetensors)" },
    { "tokenize", eval_tokenize,
      "-m FILE --inp F --out F    compare token ids with stored ones; -p TEXT: print ids" },
    { "template", eval_template,
      "NAME.expected.json...    compare rendered chat templates (needs NAME.jinja)" },
    { "logits", eval_logits, "-m MODEL -p TEXT    print the ten most likely next tokens" },
    { "perplexity", eval_perplexity, "-m MODEL -f FILE    print the perplexity of a text" },
    { "divergence", eval_divergence,
      "-m MODEL --reference MODEL -f FILE    compare the probabilities of two models for a text" },
    { "calibrate", eval_calibrate,
      "-m MODEL -f FILE --out F    write the scales that an fp8 cache needs for a text" },
    { "imatrix", eval_imatrix,
      "-m MODEL.gguf -f FILE --out F    write which inputs of matrices matter for a text" },
    { "kv", eval_kv, "-m MODEL -f FILE    compare the logits of all KV dtypes with those of f32" },
    { "tools", eval_tools,
      "FILE.jsonl...    parse model outputs with tool calls, whole and at every cut" },
    { "schema", eval_schema,
      "-m TOKENIZER FILE...    compile JSON schemas and replay their instances; see below" },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int usage(FILE *to)
{
    fprintf(to, "usage: quire-eval COMMAND [options]\n\ncommands:\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].usage);
    fprintf(to, "\noptions:\n");
    eval_options_help(to);
    fprintf(to,
            "exit: 0 passed, 1 a tolerance is exceeded, 64 usage, 65 bad data, 66 no such file, "
            "69 not supported\n");
    return to == stderr ? 64 : 0;
}

static bool parse_count(const char *text, uint32_t *out)
{
    char *end;
    const unsigned long v = strtoul(text, &end, 10);
    *out = (uint32_t)v;
    return *text >= '0' && *text <= '9' && !*end && v <= UINT32_MAX;
}

/* Sets one option. Returns false for an unknown option or a bad value. */
static bool set_option(struct eval_options *o, const char *name, const char *value)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    enum quire_kv_dtype dtype;
    if (!strcmp(name, "--isa"))
        return o->isa = value, true;
    if (!strcmp(name, "-m") || !strcmp(name, "--model"))
        return o->model = value, true;
    if (!strcmp(name, "--reference"))
        return o->reference = value, true;
    if (!strcmp(name, "--gguf"))
        return o->gguf = value, true;
    if (!strcmp(name, "--inp") || !strcmp(name, "-f"))
        return o->input = value, true;
    if (!strcmp(name, "--kv-scales"))
        return o->kv_scales = value, true;
    if (!strcmp(name, "--lora"))
        return o->lora = value, true;
    if (!strcmp(name, "--head"))
        return o->head = value, true;
    if (!strcmp(name, "--out"))
        return o->output = value, true;
    if (!strcmp(name, "-p") || !strcmp(name, "--prompt") || !strcmp(name, "--filter"))
        return o->prompt = value, true;
    if (!strcmp(name, "--threads") || !strcmp(name, "-t"))
        return parse_count(value, &o->threads);
    if (!strcmp(name, "--chunk"))
        return parse_count(value, &o->chunk);
    if (!strcmp(name, "--block-size"))
        return parse_count(value, &o->block_size);
    if (!strcmp(name, "--expand-latent"))
        return parse_count(value, &o->expand_from);
    if (!strcmp(name, "--limit"))
        return parse_count(value, &o->limit) && o->limit > 0;
    if (!strcmp(name, "--spelling")) {
        o->compact = !strcmp(value, "compact");
        return o->compact || !strcmp(value, "spaced");
    }
    if (!strcmp(name, "--clock")) {
        o->cpu_clock = !strcmp(value, "cpu");
        return o->cpu_clock || !strcmp(value, "wall");
    }
    if (!strcmp(name, "--compute")) {
        o->compute = !strcmp(value, "native")       ? QUIRE_COMPUTE_NATIVE
                     : !strcmp(value, "throughput") ? QUIRE_COMPUTE_THROUGHPUT
                                                    : QUIRE_COMPUTE_F32;
        return o->compute != QUIRE_COMPUTE_F32 || !strcmp(value, "f32");
    }
    if (!strcmp(name, "--linear")) {
        o->linear = !strcmp(value, "onednn") ? QUIRE_LINEAR_ONEDNN : QUIRE_LINEAR_QUIRE;
        return !strcmp(value, "onednn") || !strcmp(value, "quire");
    }
    if (!strcmp(name, "--kv-rotate")) {
        o->rotation = (strchr(value, 'k') ? QUIRE_KV_ROTATE_K : 0) |
                      (strchr(value, 'v') ? QUIRE_KV_ROTATE_V : 0);
        return !strcmp(value, "none") || !strcmp(value, "k") || !strcmp(value, "v") ||
               !strcmp(value, "kv");
    }
    const bool keys = !strcmp(name, "-ctk"), values = !strcmp(name, "-ctv");
    if (!keys && !values && strcmp(name, "--kv") != 0)
        return false;
    if (quire_kv_dtype_parse(value, &dtype, &err) != QUIRE_OK) {
        fprintf(stderr, "quire-eval: %s\n", err.msg);
        return false;
    }
    if (!values)
        o->k_dtype = dtype;
    if (!keys)
        o->v_dtype = dtype;
    return true;
}

static int list_levels(void)
{
    for (int i = 0; quire_cpu_level_name(i); i++)
        if (quire_cpu_level_usable(i))
            puts(quire_cpu_level_name(i));
    return 0;
}

/* For chat/quire.bash: the commands, one per line, or the options. */
static int list_names(bool of_commands)
{
    for (int i = 0; of_commands && i < N_COMMANDS; i++)
        puts(commands[i].name);
    if (!of_commands)
        eval_options_list(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* on failure the levels below AMX remain */
    file_faults_install("quire-eval", NULL);
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return usage(argc < 2 ? stderr : stdout);
    if (!strcmp(argv[1], "--list-levels"))
        return list_levels();
    if (!strcmp(argv[1], "--list-options") || !strcmp(argv[1], "--list-commands"))
        return list_names(!strcmp(argv[1], "--list-commands"));
    struct eval_options o = { .compute = QUIRE_COMPUTE_F32,
                              .linear = QUIRE_LINEAR_QUIRE,
                              .rotation = QUIRE_KV_ROTATE_K,
                              .k_dtype = QUIRE_KV_F32,
                              .v_dtype = QUIRE_KV_F32 };
    o.args = calloc((size_t)argc, sizeof *o.args);
    if (!o.args)
        return 71;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "-v")) {
            o.verbose = true;
        } else if (!strcmp(argv[i], "--bf16-states")) {
            o.bf16_states = true;
        } else if (!strcmp(argv[i], "--json")) {
            o.json = true;
        } else if (argv[i][0] != '-') {
            o.args[o.n_args++] = argv[i];
        } else if (i + 1 < argc && set_option(&o, argv[i], argv[i + 1])) {
            i++;
        } else {
            fprintf(stderr, "quire-eval: bad option %s %s\n", argv[i],
                    i + 1 < argc ? argv[i + 1] : "(no value)");
            free(o.args);
            return usage(stderr);
        }
    }
    struct quire_error err = QUIRE_ERROR_INIT;
    int code = -1;
    if (o.linear == QUIRE_LINEAR_ONEDNN && o.isa) {
        const quire_status s = quire_onednn_set_isa(o.isa, &err);
        if (s != QUIRE_OK) {
            free(o.args);
            return eval_fail("--isa", s, &err);
        }
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            code = commands[i].run(&o);
    free(o.args);
    return code < 0 ? usage(stderr) : code;
}
