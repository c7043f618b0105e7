/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - quire-eval: options and the choice of a command. */
#include "eval.h"
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
      "DIR...  |  --gguf FILE [DIR]    logits and greedy tokens against reference tensors" },
    { "attention", eval_attention,
      "FILE.json    paged-attention cases (FILE.safetensors beside it)" },
    { "tokenize", eval_tokenize,
      "-m FILE --inp F --out F    a vocabulary against stored ids; -p TEXT prints ids" },
    { "template", eval_template,
      "FILE.expected.json...    chat templates (NAME.jinja beside each)" },
    { "logits", eval_logits, "-m MODEL -p TEXT    the ten likeliest next tokens" },
    { "perplexity", eval_perplexity, "-m MODEL -f FILE    of a text" },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int usage(FILE *to)
{
    fprintf(to, "usage: quire-eval COMMAND [options]\n\ncommands:\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].usage);
    fprintf(
        to,
        "\noptions:\n"
        "  --isa LEVEL        exact instruction-set level (default: best)\n"
        "  --compute MODE     f32 (default) or native\n"
        "  --linear WHO       who multiplies f32 and bf16 weights: quire (default) or onednn\n"
        "  --kv TYPE          f32 (default), f16, bf16, fp8_e4m3, fp8_e5m2, int8; -ctk and -ctv "
        "set "
        "one side\n"
        "  --threads N        default: what the machine gives\n"
        "  --chunk N          tokens per step of a prompt (default: all)\n"
        "  --block-size N     tokens per cache block (default 64; attention: all of 16 32 64 128)\n"
        "  --expand-latent N  latent attention: expand keys for N new tokens or more (default: "
        "never)\n"
        "exit: 0 passed, 1 outside a gate, 64 usage, 65 bad data, 66 no such file, 69 "
        "unavailable\n");
    return to == stderr ? 64 : 0;
}

int eval_fail(const char *what, quire_status status, const struct quire_error *err)
{
    fprintf(stderr, "quire-eval: %s: %s\n", what,
            err && err->msg[0] ? err->msg : quire_status_text(status));
    switch (status) {
    case QUIRE_E_INVALID_ARG:
        return 64;
    case QUIRE_E_FORMAT:
    case QUIRE_E_MISMATCH:
    case QUIRE_E_CORRUPT:
        return 65;
    case QUIRE_E_IO:
        return 66;
    case QUIRE_E_UNSUPPORTED:
        return 69;
    case QUIRE_E_NOMEM:
        return 75;
    default:
        return 70;
    }
}

char *eval_read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        data = malloc((size_t)n + 1);
    if (data && fread(data, 1, (size_t)n, f) != (size_t)n) {
        free(data);
        data = NULL;
    }
    if (f)
        fclose(f);
    if (!data) {
        fprintf(stderr, "quire-eval: cannot read %s\n", path);
        return NULL;
    }
    data[n] = 0;
    *size = (size_t)n;
    return data;
}

static bool parse_count(const char *text, uint32_t *out)
{
    char *end;
    const unsigned long v = strtoul(text, &end, 10);
    *out = (uint32_t)v;
    return *text >= '0' && *text <= '9' && !*end && v <= UINT32_MAX;
}

/* One option with its value. False: unknown, or the value does not fit. */
static bool set_option(struct eval_options *o, const char *name, const char *value)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    enum quire_kv_dtype dtype;
    if (!strcmp(name, "--isa"))
        return o->isa = value, true;
    if (!strcmp(name, "-m") || !strcmp(name, "--model"))
        return o->model = value, true;
    if (!strcmp(name, "--gguf"))
        return o->gguf = value, true;
    if (!strcmp(name, "--inp") || !strcmp(name, "-f"))
        return o->input = value, true;
    if (!strcmp(name, "--out"))
        return o->output = value, true;
    if (!strcmp(name, "-p") || !strcmp(name, "--prompt"))
        return o->prompt = value, true;
    if (!strcmp(name, "--threads") || !strcmp(name, "-t"))
        return parse_count(value, &o->threads);
    if (!strcmp(name, "--chunk"))
        return parse_count(value, &o->chunk);
    if (!strcmp(name, "--block-size"))
        return parse_count(value, &o->block_size);
    if (!strcmp(name, "--expand-latent"))
        return parse_count(value, &o->expand_from);
    if (!strcmp(name, "--compute")) {
        o->compute = strcmp(value, "native") ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
        return !strcmp(value, "native") || !strcmp(value, "f32");
    }
    if (!strcmp(name, "--linear")) {
        o->linear = strcmp(value, "onednn") ? QUIRE_LINEAR_QUIRE : QUIRE_LINEAR_ONEDNN;
        return !strcmp(value, "onednn") || !strcmp(value, "quire");
    }
    if (strcmp(name, "--kv") && strcmp(name, "-ctk") && strcmp(name, "-ctv"))
        return false;
    if (quire_kv_dtype_parse(value, &dtype, &err) != QUIRE_OK) {
        fprintf(stderr, "quire-eval: %s\n", err.msg);
        return false;
    }
    if (strcmp(name, "-ctv"))
        o->k_dtype = dtype;
    if (strcmp(name, "-ctk"))
        o->v_dtype = dtype;
    return true;
}

int main(int argc, char **argv)
{
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* refused: the levels below remain */
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return usage(argc < 2 ? stderr : stdout);
    struct eval_options o = { .compute = QUIRE_COMPUTE_F32,
                              .linear = QUIRE_LINEAR_QUIRE,
                              .k_dtype = QUIRE_KV_F32,
                              .v_dtype = QUIRE_KV_F32 };
    o.args = calloc((size_t)argc, sizeof *o.args);
    if (!o.args)
        return 71;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "-v")) {
            o.verbose = true;
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
