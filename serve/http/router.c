/* SPDX-License-Identifier: Apache-2.0 */
/* router.c - all routes of the server. */
#include "router.h"
#include "chat_completions.h"
#include "completions.h"
#include "embeddings.h"
#include "messages.h"
#include "metrics.h"
#include "models_list.h"
#include "ollama.h"
#include "ollama_embed.h"
#include "ollama_models.h"
#include "pages.h"
#include "prefix_key.h"
#include "rerank.h"
#include "responses.h"
#include "state.h"
#include "tokenize.h"
#include <string.h>

static const struct route routes[] = {
    { "POST", "/v1/chat/completions", chat_completions_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/v1/completions", completions_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/v1/responses", responses_create_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "GET", "/v1/responses/*", responses_get_route, DIALECT_OPENAI, 0 },
    { "POST", "/v1/responses/*", responses_cancel_route, DIALECT_OPENAI, 0 },
    { "DELETE", "/v1/responses/*", responses_delete_route, DIALECT_OPENAI, 0 },
    { "POST", "/v1/embeddings", embeddings_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/v1/rerank", rerank_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/rerank", rerank_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/v1/score", score_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "POST", "/score", score_route, DIALECT_OPENAI, ROUTE_COMPUTE },
    { "GET", "/v1/models", models_list_route, DIALECT_OPENAI, 0 },
    { "GET", "/v1/models/*", models_get_route, DIALECT_OPENAI, 0 },
    { "POST", "/v1/prefix-key", prefix_key_route, DIALECT_OPENAI, 0 },
    { "POST", "/v1/messages", messages_route, DIALECT_ANTHROPIC, ROUTE_COMPUTE },
    { "POST", "/v1/messages/count_tokens", messages_count_tokens_route, DIALECT_ANTHROPIC, 0 },
    { "POST", "/tokenize", tokenize_route, DIALECT_OPENAI, 0 },
    { "POST", "/detokenize", detokenize_route, DIALECT_OPENAI, 0 },
    { "POST", "/apply-template", apply_template_route, DIALECT_OPENAI, 0 },
    { "POST", "/api/chat", ollama_chat_route, DIALECT_OLLAMA, ROUTE_COMPUTE },
    { "POST", "/api/generate", ollama_generate_route, DIALECT_OLLAMA, ROUTE_COMPUTE },
    { "POST", "/api/embed", ollama_embed_route, DIALECT_OLLAMA, ROUTE_COMPUTE },
    { "POST", "/api/embeddings", ollama_embeddings_route, DIALECT_OLLAMA, ROUTE_COMPUTE },
    { "GET", "/api/tags", ollama_tags_route, DIALECT_OLLAMA, 0 },
    { "GET", "/api/ps", ollama_ps_route, DIALECT_OLLAMA, 0 },
    { "POST", "/api/show", ollama_show_route, DIALECT_OLLAMA, 0 },
    { "GET", "/api/version", ollama_version_route, DIALECT_OLLAMA, ROUTE_PUBLIC },
    { "GET", "/health", health_route, DIALECT_OPENAI, ROUTE_PUBLIC },
    { "GET", "/ready", ready_route, DIALECT_OPENAI, ROUTE_PUBLIC },
    { "GET", "/version", version_route, DIALECT_OPENAI, ROUTE_PUBLIC },
    { "GET", "/slots", slots_route, DIALECT_OPENAI, 0 },
    { "GET", "/metrics", metrics_route, DIALECT_OPENAI, 0 },
    { "GET", "/", page_chat_route, DIALECT_OPENAI, ROUTE_PUBLIC },
    { "GET", "/status", page_status_route, DIALECT_OPENAI, ROUTE_PUBLIC },
};

static bool matches(const struct route *r, const char *path, const char **rest)
{
    const size_t n = strlen(r->path);
    if (r->path[n - 1] != '*') {
        *rest = "";
        return strcmp(r->path, path) == 0;
    }
    *rest = path + n - 1;
    return strncmp(r->path, path, n - 1) == 0 && path[n - 1] != '\0';
}

const struct route *router_find(const char *method, const char *path, const char **path_rest,
                                char allowed[64])
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    char *end = allowed;
    *end = '\0';
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (!matches(&routes[i], path, path_rest))
            continue;
        if (strcmp(routes[i].method, wanted) == 0)
            return &routes[i];
        end = stpcpy(stpcpy(end, end > allowed ? ", " : ""), routes[i].method);
    }
    return NULL;
}
