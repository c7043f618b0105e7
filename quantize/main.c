/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - quire-quantize: writes GGUF models with smaller weights. */
#include "base/weight_type.h"
#include "convert.h"
#include "eval_divergence.h"
#include "format/gguf_meta.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

struct options {
    const char *input, *output, *text, *imatrix;
    const struct scheme *scheme;
    uint32_t threads;
    bool pure, quiet, requantize;
};

static void print_help(void)
{
    const struct scheme *s;
    printf("usage: quire-quantize [options] IN.gguf -o OUT.gguf --type TYPE\n\n"
           "Writes a model again with weights of another type.\n\n"
           "  -o, --output FILE        the new file\n"
           "      --type TYPE          type of most matrices:");
    for (size_t i = 0; (s = scheme_at(i)); i++)
        printf("%s%s", i % 8 ? " " : "\n                           ", s->name);
    printf(
        ";\n"
        "                           _M: some matrices of some layers get Q6_K\n"
        "      --imatrix FILE       weigh errors by a file of quire-eval imatrix or llama-imatrix\n"
        "      --pure               the output matrix gets TYPE, too, not Q6_K\n"
        "      --allow-requantize   round weights that are rounded already\n"
        "      --text FILE          print the KL divergence from the source for this text\n"
        "  -t, --threads N          number of threads (default: automatic)\n"
        "  -q, --quiet              print the totals only\n"
        "  -h, --help               print this help and exit\n"
        "      --version            print the version and exit\n");
}

/* For the shell completion: NAMES|VALUE|file or the possible values. */
static void list_options(void)
{
    const struct scheme *s;
    printf("-o --output|FILE|file\n--type|TYPE|");
    for (size_t i = 0; (s = scheme_at(i)); i++)
        printf("%s%s", i ? " " : "", s->name);
    printf("\n--imatrix|FILE|file\n--text|FILE|file\n-t "
           "--threads|N|\n--pure||\n--allow-requantize||\n-q --quiet||\n"
           "-h --help||\n--version||\n");
}

static int usage_error(const char *format, const char *what)
{
    fprintf(stderr, "quire-quantize: ");
    fprintf(stderr, format, what);
    fprintf(stderr, " (see --help)\n");
    return EX_USAGE;
}

static bool parse_threads(const char *text, uint32_t *out)
{
    enum { MAX_THREADS = 1024 };
    char *end;
    const unsigned long n = strtoul(text, &end, 10);
    *out = (uint32_t)n;
    return *text >= '0' && *text <= '9' && *end == '\0' && n <= MAX_THREADS;
}

/* Returns an exit code, or -1 to go on. */
static int read_options(struct options *o, int argc, char **argv)
{
    enum { TYPE = 256, IMATRIX, PURE, REQUANTIZE, TEXT, VERSION, LIST };
    static const struct option names[] = {
        { "output", required_argument, NULL, 'o' },
        { "type", required_argument, NULL, TYPE },
        { "imatrix", required_argument, NULL, IMATRIX },
        { "pure", no_argument, NULL, PURE },
        { "allow-requantize", no_argument, NULL, REQUANTIZE },
        { "text", required_argument, NULL, TEXT },
        { "threads", required_argument, NULL, 't' },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, VERSION },
        { "list-options", no_argument, NULL, LIST },
        { 0 },
    };
    for (int c; (c = getopt_long(argc, argv, "o:t:qh", names, NULL)) != -1;) {
        if (c == 'o')
            o->output = optarg;
        else if (c == TYPE && !(o->scheme = scheme_find(optarg)))
            return usage_error("--type: unknown type '%s'", optarg);
        else if (c == 't' && !parse_threads(optarg, &o->threads))
            return usage_error("--threads: '%s' is no number up to 1024", optarg);
        else if (c == TEXT)
            o->text = optarg;
        else if (c == IMATRIX)
            o->imatrix = optarg;
        else if (c == 'h')
            return print_help(), 0;
        else if (c == VERSION)
            return printf("quire-quantize %s\n", quire_version()), 0;
        else if (c == LIST)
            return list_options(), 0;
        else if (c == '?')
            return EX_USAGE; /* getopt_long printed a message */
        o->pure |= c == PURE;
        o->requantize |= c == REQUANTIZE;
        o->quiet |= c == 'q';
    }
    if (optind != argc - 1)
        return usage_error("give one file%s", optind < argc ? " only" : " to read");
    o->input = argv[optind];
    if (!o->output)
        return usage_error("%s is missing", "--output");
    return o->scheme ? -1 : usage_error("%s is missing", "--type");
}

/* Whether both paths name one file: it would be emptied before it is read. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Numbers of layers, the output matrix, and whether there is something to round. */
static quire_status make_plan(const struct options *o, const struct qr_gguf *source,
                              struct plan *plan, struct quire_error *err)
{
    struct qr_gguf_str arch;
    char key[128];
    size_t index;
    quire_status s = qr_gguf_get_str(source, "general.architecture", &arch, err);
    if (s != QUIRE_OK)
        return s;
    *plan = (struct plan){ .scheme = o->scheme,
                           .pure = o->pure,
                           .tied = !qr_gguf_find_tensor(source, "output.weight", &index) };
    snprintf(key, sizeof key, "%.*s.block_count", arch.size < 100 ? (int)arch.size : 100,
             arch.data);
    s = qr_gguf_get_u32_or(source, key, 0, &plan->n_layers, err);
    for (size_t i = 0; s == QUIRE_OK && !o->requantize && i < qr_gguf_tensor_count(source); i++) {
        const struct qr_gguf_tensor *t = qr_gguf_tensor(source, i);
        if (qr_weight_type_info(t->type)->block_elems > 1 && plan_type(plan, t) != t->type) {
            snprintf(err->msg, sizeof err->msg,
                     "tensor %s is %s: rounding it again loses more than rounding the original; "
                     "--allow-requantize does it anyway",
                     t->name, qr_weight_type_info(t->type)->name);
            return QUIRE_E_UNSUPPORTED;
        }
    }
    return s;
}

static void print_totals(const struct conversion *c)
{
    const double mib = 1 << 20;
    if (c->n_odd)
        printf("%u matrices have rows that are no multiple of %u values: they got IQ4_NL or Q8_0\n",
               c->n_odd, qr_weight_type_info(c->plan.scheme->type)->block_elems);
    printf("%.1f MiB -> %.1f MiB, %.3f bits per weight\n", (double)c->bytes_before / mib,
           (double)c->bytes_after / mib,
           c->n_values ? 8 * (double)c->bytes_after / (double)c->n_values : 0);
}

static int quantize(const struct options *o)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params tp;
    struct qr_gguf *source = NULL;
    struct importance *importance = NULL;
    struct conversion c = { .quiet = o->quiet };
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = o->threads;
    quire_status s = qr_gguf_open(o->input, NULL, NULL, &source, &err);
    const char *failed = o->input;
    if (s == QUIRE_OK && o->imatrix) {
        s = importance_open(o->imatrix, &importance, &err);
        failed = s == QUIRE_OK ? o->input : o->imatrix;
    }
    c.importance = importance;
    if (s == QUIRE_OK)
        s = make_plan(o, source, &c.plan, &err);
    if (s == QUIRE_OK)
        s = quire_threads_create(&tp, &c.threads, &err);
    c.source = source;
    if (s == QUIRE_OK)
        s = convert(&c, o->output, &err);
    if (s == QUIRE_OK)
        print_totals(&c);
    quire_threads_destroy(c.threads);
    qr_gguf_close(source);
    importance_close(importance);
    return s == QUIRE_OK ? 0 : eval_fail(failed, s, &err);
}

int main(int argc, char **argv)
{
    struct options o = { 0 };
    struct divergence d;
    int code = read_options(&o, argc, argv);
    if (code >= 0)
        return code;
    if (is_same_file(o.input, o.output))
        return usage_error("%s is the file to read", o.output);
    code = quantize(&o);
    if (code || !o.text)
        return code;
    const struct eval_options measure = { .model = o.output,
                                          .reference = o.input,
                                          .input = o.text,
                                          .compute = QUIRE_COMPUTE_F32,
                                          .linear = QUIRE_LINEAR_QUIRE,
                                          .k_dtype = QUIRE_KV_F32,
                                          .v_dtype = QUIRE_KV_F32,
                                          .threads = o.threads };
    code = eval_measure_divergence(&measure, &d);
    if (code == 0)
        eval_print_divergence(&d);
    return code;
}
