/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - reads the options of quire-server and serves those that end the program. */
#include "options.h"
#include "config_file.h"
#include "hash_key.h"
#include "keys.h"
#include "option_values.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static int fail(int code, const char *text)
{
    fprintf(stderr, "quire-server: %s\n", text);
    return code;
}

static int read_arguments(struct option_reader *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            fprintf(stderr, "quire-server: unexpected argument '%s' (a model is given with -m)\n",
                    argv[i]);
            return EX_USAGE;
        }
        if (!option_table_read_argument(&server_options, r, argc, argv, &i))
            return EX_USAGE;
    }
    return 0;
}

/* The configuration file comes before the arguments, but they may name it: they are read twice. */
static int read_sources(struct options *o, int argc, char **argv)
{
    struct option_reader r = { .options = o, .source = 1 };
    *o = option_defaults;
    if (!option_table_read_environment(&server_options, &r))
        return EX_USAGE;
    struct options named = *o;
    struct option_reader first = { .options = &named, .source = 1 };
    int code = read_arguments(&first, argc, argv);
    if (code || named.help || named.version || named.list_options || named.hash_key) {
        *o = named;
        return code;
    }
    r.source++;
    if (named.config)
        code = config_file_read(named.config, &r);
    r.source++;
    return code ? code : read_arguments(&r, argc, argv);
}

static bool is_origin(const char *s)
{
    if (strcmp(s, "*") == 0 || strcmp(s, "null") == 0)
        return true;
    const char *host = strstr(s, "://");
    return host && host > s && host[3] && host[3 + strcspn(host + 3, "/?# ")] == '\0';
}

/* What no single option shows. */
static int check_together(const struct options *o)
{
    if (!o->tls_cert != !o->tls_key)
        return fail(EX_USAGE,
                    o->tls_cert ? "--tls-cert needs --tls-key" : "--tls-key needs --tls-cert");
    if (o->max_body == 0)
        return fail(EX_USAGE, "--max-body: 0 bytes leave no room for a request");
    if (o->max_lora_rank > QUIRE_ADAPTER_MAX_RANK)
        return fail(EX_USAGE, "--max-lora-rank: give 1024 or less");
    if (o->max_connections == 0)
        return fail(EX_USAGE, "--max-connections: give 1 or more");
    if (o->max_queue == 0)
        return fail(EX_USAGE, "--max-queue: give 1 or more");
    if (o->otlp_endpoint && strncmp(o->otlp_endpoint, "http://", 7) != 0)
        return fail(EX_USAGE, "--otlp-endpoint: give a URL that begins with http://");
    for (uint32_t i = 0; i < o->cors_origins.n; i++)
        if (!is_origin(o->cors_origins.text[i])) {
            fprintf(stderr,
                    "quire-server: --cors-origin: '%s' is no origin such as "
                    "https://chat.example:8443, and not *\n",
                    o->cors_origins.text[i]);
            return EX_USAGE;
        }
    return 0;
}

/* ---- Options that end the program */

static void print_help(void)
{
    const unsigned width = option_table_help_width();
    printf("usage: quire-server [options]\n\n");
    option_table_print_wrapped(
        stdout,
        "Serves language models on the CPU over HTTP: the APIs of OpenAI, Anthropic and Ollama, "
        "and a web page.",
        width);
    option_table_print_rows(&server_options, stdout, width);
    printf("\n");
    option_table_print_wrapped(
        stdout,
        "Every option can be set as QUIRE_ARG_NAME in the environment (--ctx-size: "
        "QUIRE_ARG_CTX_SIZE). The configuration file overrides the environment, and the command "
        "line overrides both. SIGTERM ends the server when the running answers have ended.",
        width);
}

static int check_readable(const char *option, const char *path)
{
    if (!path || access(path, R_OK) == 0)
        return 0;
    fprintf(stderr, "quire-server: %s: cannot read %s: %s\n", option, path, strerror(errno));
    return EX_NOINPUT;
}

static int check_files(const struct options *o)
{
    int code = 0;
    for (uint32_t i = 0; i < o->models.n && !code; i++)
        code = check_readable("--model", option_model_path(o->models.text[i]));
    for (uint32_t i = 0; i < o->loras.n && !code; i++)
        code = check_readable("--lora", option_model_path(o->loras.text[i]));
    code = code ? code : check_readable("--draft-model", o->draft_model);
    code = code ? code : check_readable("--chat-template-file", o->template_file);
    code = code ? code : check_readable("--kv-scales", o->kv_scales);
    code = code ? code : check_readable("--tls-cert", o->tls_cert);
    code = code ? code : check_readable("--tls-key", o->tls_key);
    code = code ? code : check_readable("--api-key-file", o->api_key_file);
    struct api_error error = { 0 };
    struct keys *keys = code ? NULL : keys_open(o->api_key_file, &error);
    if (!code && !keys)
        code = fail(EX_CONFIG, error.message);
    keys_close(keys);
    return code;
}

/* Serves an option that ends the program; *exit_now tells if there is one. */
static int serve_information(const struct options *o, bool *exit_now)
{
    *exit_now = true;
    if (o->help)
        print_help();
    else if (o->version)
        printf("quire-server %s\n", quire_version());
    else if (o->list_options)
        option_table_print_list(&server_options, stdout, option_values_print_completion);
    else if (o->hash_key)
        return hash_key_from_input();
    else
        *exit_now = false;
    return *exit_now && fflush(stdout) != 0 ? fail(EX_IOERR, "cannot write to standard output") : 0;
}

int options_read(struct options *o, int argc, char **argv, bool *exit_now)
{
    *exit_now = false;
    int code = read_sources(o, argc, argv);
    if (code)
        return code;
    code = serve_information(o, exit_now);
    if (code || *exit_now)
        return code;
    code = check_together(o);
    if (code || !o->check_config)
        return code;
    *exit_now = true;
    code = check_files(o);
    if (code == 0) {
        option_values_print(o, stdout);
        if (fflush(stdout) != 0)
            code = fail(EX_IOERR, "cannot write to standard output");
    }
    return code;
}
