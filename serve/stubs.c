/* SPDX-License-Identifier: Apache-2.0 */
/* stubs.c - weak definitions of parts that are being written; removed when they are there. */
#include "exchange.h"
#include "keys.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "options.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#define WEAK __attribute__((weak))
#define ROUTE(name)                                                                                \
    void name(struct exchange *x);                                                                 \
    WEAK void name(struct exchange *x)                                                             \
    {                                                                                              \
        struct api_error e = { 0 };                                                                \
        api_fail(&e, 501, NULL, NULL, #name);                                                      \
        exchange_reply_error(x, &e);                                                               \
    }
ROUTE(completions_route)
ROUTE(responses_create_route)
ROUTE(responses_get_route)
ROUTE(responses_cancel_route)
ROUTE(responses_delete_route)
ROUTE(embeddings_route)
ROUTE(rerank_route) ROUTE(score_route) ROUTE(models_list_route) ROUTE(models_get_route)
    ROUTE(prefix_key_route) ROUTE(messages_route) ROUTE(messages_count_tokens_route)
        ROUTE(tokenize_route) ROUTE(detokenize_route) ROUTE(apply_template_route)
            ROUTE(ollama_chat_route) ROUTE(ollama_generate_route) ROUTE(ollama_embed_route)
                ROUTE(ollama_embeddings_route) ROUTE(ollama_tags_route) ROUTE(ollama_ps_route)
                    ROUTE(ollama_show_route) ROUTE(ollama_version_route) ROUTE(health_route)
                        ROUTE(ready_route) ROUTE(version_route) ROUTE(slots_route)
                            ROUTE(metrics_route) ROUTE(page_chat_route)
                                ROUTE(page_status_route) static const
    struct key anonymous = { .name = "anonymous" };
WEAK struct keys *keys_open(const char *path, struct api_error *e)
{
    (void)path;
    (void)e;
    return (struct keys *)&anonymous;
}
WEAK void keys_close(struct keys *k) { (void)k; }
WEAK const struct key *keys_find(const struct keys *k, const char *a, const char *b)
{
    (void)k;
    (void)a;
    (void)b;
    return &anonymous;
}
WEAK bool keys_begin(const struct key *k, double now, struct api_error *e)
{
    (void)k;
    (void)now;
    (void)e;
    return true;
}
WEAK void keys_end(const struct key *k, double now, uint64_t t)
{
    (void)k;
    (void)now;
    (void)t;
}
WEAK struct metrics *metrics_create(void) { return (struct metrics *)&anonymous; }
WEAK void metrics_destroy(struct metrics *m) { (void)m; }
WEAK void metrics_http(struct metrics *m, const char *r, int s, double t)
{
    (void)m;
    (void)r;
    (void)s;
    (void)t;
}
WEAK void metrics_ignored_parameter(struct metrics *m, const char *n)
{
    (void)m;
    (void)n;
}
WEAK void metrics_generation(struct metrics *m, const struct generation *g)
{
    (void)m;
    (void)g;
}
WEAK void metrics_inter_token(struct metrics *m, const struct model *o, double s)
{
    (void)m;
    (void)o;
    (void)s;
}
WEAK void metrics_first_token(struct metrics *m, const struct model *o, double s)
{
    (void)m;
    (void)o;
    (void)s;
}
WEAK void metrics_refused(struct metrics *m, const char *r)
{
    (void)m;
    (void)r;
}
WEAK struct log *log_open(enum log_format f, enum quire_log_level l)
{
    (void)f;
    (void)l;
    return (struct log *)&anonymous;
}
WEAK void log_close(struct log *l) { (void)l; }
WEAK void log_line(struct log *log, enum quire_log_level level, const char *message,
                   const struct log_field *f, unsigned n)
{
    (void)log;
    (void)level;
    fprintf(stderr, "%s", message);
    for (unsigned i = 0; i < n; i++)
        if (f[i].text)
            fprintf(stderr, " %s=%s", f[i].name, f[i].text);
        else
            fprintf(stderr, " %s=%g", f[i].name, f[i].number);
    fputc('\n', stderr);
}
WEAK void log_library(void *u, enum quire_log_level l, quire_status c, const char *m)
{
    (void)u;
    (void)c;
    if (l <= QUIRE_LOG_WARN)
        fprintf(stderr, "%s\n", m);
}
WEAK int listen_open(const struct options *o, struct listener out[8], struct api_error *e)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(o->port) };
    socklen_t n = sizeof a;
    int one = 1;
    (void)e;
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    out->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(out->fd, (struct sockaddr *)&a, n) || listen(out->fd, 1024))
        return 0;
    getsockname(out->fd, (struct sockaddr *)&a, &n);
    snprintf(out->url, sizeof out->url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    return 1;
}
WEAK int options_read(struct options *o, int argc, char **argv, bool *exit_now)
{
    static const struct options defaults = {
#define SECTION(title)
#define OPTION(kind, field, initial, ...) .field = initial,
#include "options.def"
#undef SECTION
#undef OPTION
    };
    *o = defaults;
    *exit_now = false;
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--port"))
            o->port = (uint16_t)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "-m"))
            o->models.text[o->models.n++] = argv[i + 1];
        if (!strcmp(argv[i], "-t"))
            o->threads = (uint32_t)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--parallel"))
            o->parallel = (uint32_t)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--max-queue"))
            o->max_queue = (uint32_t)atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--models-mem"))
            o->models_bytes = (uint64_t)atoll(argv[i + 1]) << 20;
        if (!strcmp(argv[i], "--cache-dir"))
            o->cache_dir = argv[i + 1];
        if (!strcmp(argv[i], "-c"))
            o->context = (uint32_t)atoi(argv[i + 1]);
    }
    return 0;
}
