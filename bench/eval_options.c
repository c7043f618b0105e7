/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_options.h"
#include <quire/cpu.h>
#include <quire/kv_cache.h>
#include <string.h>

#define KV_TYPES   "(KV types)"
#define ISA_LEVELS "(ISA levels)"

static const struct {
    const char *names, *value; /* value: "" = a flag */
    const char *completion;    /* as in eval_options_list(), or one of the lists above */
    const char *help;
} options[] = {
    { "-m --model", "MODEL", "model", "GGUF file, Hugging Face folder or tokenizer.json" },
    { "--reference", "MODEL", "model", "divergence: the model to compare with" },
    { "--gguf", "FILE", "file", "golden: this model instead of that of DIR" },
    { "-p --prompt", "TEXT", "", "logits, tokenize: the text" },
    { "-f --inp", "FILE", "file", "tokenize, perplexity, divergence, calibrate, kv: the texts" },
    { "--out", "FILE", "file", "tokenize: the expected ids; calibrate: the scales" },
    { "--isa", "LEVEL", ISA_LEVELS, "exact ISA level (default: best)" },
    { "--compute", "MODE", "f32 native throughput", "f32 (default), native or throughput" },
    { "--linear", "PROVIDER", "quire onednn",
      "matmul provider of f32 and bf16 weights: quire (default) or onednn" },
    { "--kv", "TYPE", KV_TYPES,
      "KV dtype: f32 (default), f16, bf16, fp8_e4m3, fp8_e5m2, int8, int4" },
    { "-ctk", "TYPE", KV_TYPES, "KV dtype of keys" },
    { "-ctv", "TYPE", KV_TYPES, "KV dtype of values" },
    { "--kv-rotate", "WHAT", "none k v kv", "int4 rows to transform: none, k (default), v, kv" },
    { "--kv-scales", "FILE", "file", "scales of fp8 caches, as written by calibrate" },
    { "--bf16-states", "", "", "recurrent states in bf16 (default: f32)" },
    { "--lora", "PATH", "file",
      "LoRA adapter of all sequences; golden: with -m MODEL, compared with DIR or with the "
      "reference "
      "tensors beside the adapter" },
    { "--head", "PATH", "file",
      "golden: a head of multi-token prediction of the model in files of its own" },
    { "-t --threads", "N", "", "default: of the machine" },
    { "--chunk", "N", "", "prompt tokens per step (default: all)" },
    { "--block-size", "N", "", "tokens per KV block (default 64; attention: several)" },
    { "--expand-latent", "N", "",
      "MLA: expand latent keys for N new tokens or more (default: never)" },
    { "--filter", "NAME", "", "schema: those with NAME in their names" },
    { "--limit", "N", "", "schema: the first N" },
    { "--spelling", "S", "spaced compact",
      "schema: instances spaced (default; \", \" and \": \") or compact" },
    { "--clock", "C", "wall cpu",
      "schema: times by wall (default) or cpu, which others' load leaves alone" },
    { "--json", "", "", "schema: the report as JSON; other lines go to stderr" },
    { "-v", "", "", "more about each case" },
    { "--list-levels", "", "", "print the ISA levels that this CPU supports, in rising order" },
    { "-h --help", "", "", "print this help" },
};
enum { N_OPTIONS = sizeof options / sizeof options[0] };

void eval_options_help(FILE *out)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        char head[64];
        const int n = snprintf(head, sizeof head, "%s %s", options[i].names, options[i].value);
        for (int k = 0; k < n; k++) /* "-m --model" as "-m, --model" */
            if (head[k] == ' ' && head[k + 1] == '-') {
                memmove(head + k + 1, head + k, strlen(head + k) + 1);
                head[k] = ',';
                break;
            }
        fprintf(out, "  %-21s %s\n", head, options[i].help);
    }
}

static void print_kv_types(FILE *out)
{
    static const enum quire_kv_dtype types[] = { QUIRE_KV_F32,      QUIRE_KV_F16,
                                                 QUIRE_KV_BF16,     QUIRE_KV_FP8_E4M3,
                                                 QUIRE_KV_FP8_E5M2, QUIRE_KV_INT8,
                                                 QUIRE_KV_INT4 };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        fprintf(out, i ? " %s" : "%s", quire_kv_dtype_name(types[i]));
}

void eval_options_list(FILE *out)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        fprintf(out, "%s|%s|", options[i].names, options[i].value);
        if (strcmp(options[i].completion, KV_TYPES) == 0)
            print_kv_types(out);
        else if (strcmp(options[i].completion, ISA_LEVELS) == 0)
            for (int k = 0; quire_cpu_level_name(k); k++)
                fprintf(out, k ? " %s" : "%s", quire_cpu_level_name(k));
        else
            fputs(options[i].completion, out);
        fputc('\n', out);
    }
}
