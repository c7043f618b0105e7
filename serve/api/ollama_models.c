/* SPDX-License-Identifier: Apache-2.0 */
#include "ollama_models.h"
#include "adapter_list.h"
#include "exchange.h"
#include "json_build.h"
#include "model_list.h"
#include "ollama_common.h"
#include "openai_answer.h"
#include "registry.h"
#include "server.h"
#include <stdio.h>
#include <string.h>

/* What is known while the model is open; otherwise empty strings. */
static json_t *details_json(const struct model *m)
{
    const bool open = m->state == MODEL_OPEN;
    const struct quire_model_info *i = &m->model_info;
    const char *family = open ? i->arch : "";
    char size[32] = "";
    if (open)
        snprintf(size, sizeof size, "%.1fM", (double)i->n_parameters / 1e6);
    const bool gguf = m->path == NULL ||
                      (strlen(m->path) > 5 && strcmp(m->path + strlen(m->path) - 5, ".gguf") == 0);
    return json_pack("{s:s, s:s, s:s, s:[s], s:s, s:s}", "parent_model", "", "format",
                     gguf ? "gguf" : "safetensors", "family", family, "families", family,
                     "parameter_size", size, "quantization_level", open ? i->weight_type : "");
}

/* Members of a model in both lists. The digest names the weights, once they have been read. */
static json_t *model_json(const struct model *m)
{
    char digest[65];
    snprintf(digest, sizeof digest, "%064llx", (unsigned long long)m->model_info.fingerprint);
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "name", m->name, "model", m->name, "size",
                     (json_int_t)m->model_info.weight_bytes, "digest", digest, "details",
                     details_json(m));
}

void ollama_tags_route(struct exchange *x)
{
    json_t *models = json_array();
    const struct model *m;
    for (unsigned i = 0; (m = registry_model(x->server->registry, i)) != NULL; i++) {
        json_t *object = model_json(m);
        json_build_set(&object, "modified_at", ollama_time((time_t)m->created));
        json_build_append(&models, object);
    }
    const struct adapter_entry *a;
    for (unsigned i = 0; (a = adapter_list_at(x->server->registry, i)) != NULL; i++) {
        const struct model *base = registry_model(x->server->registry, 0);
        json_t *object = model_json(base);
        json_build_set(&object, "name", json_string(a->name));
        json_build_set(&object, "model", json_string(a->name));
        json_object_set_new(json_object_get(object, "details"), "parent_model",
                            json_string(base->name));
        json_build_set(&object, "modified_at", ollama_time((time_t)base->created));
        json_build_append(&models, object);
    }
    exchange_reply_json(x, 200, json_pack("{s:o}", "models", models));
}

void ollama_ps_route(struct exchange *x)
{
    json_t *models = json_array();
    const struct model *m;
    for (unsigned i = 0; (m = registry_model(x->server->registry, i)) != NULL; i++) {
        if (m->state != MODEL_OPEN)
            continue;
        json_t *object = model_json(m);
        json_build_set(&object, "size_vram", json_integer(0));
        json_build_set(&object, "context_length", json_integer(m->info.context_length));
        json_build_set(&object, "expires_at", json_string("9999-12-31T23:59:59Z"));
        json_build_append(&models, object);
    }
    exchange_reply_json(x, 200, json_pack("{s:o}", "models", models));
}

void ollama_version_route(struct exchange *x)
{
    exchange_reply_json(x, 200, json_pack("{s:s}", "version", quire_version()));
}

/* ---- POST /api/show: opens the model */

static json_t *capabilities_json(const struct model *m)
{
    json_t *list = json_array();
    if (m->model_info.kind != QUIRE_MODEL_ENCODER)
        json_build_append(&list, json_string("completion"));
    if (m->model_info.kind != QUIRE_MODEL_ENCODER_DECODER)
        json_build_append(&list, json_string("embedding"));
    return list;
}

static json_t *model_info_json(const struct model *m)
{
    const struct quire_model_info *i = &m->model_info;
    char name[128];
    json_t *info = json_pack("{s:s, s:I}", "general.architecture", i->arch,
                             "general.parameter_count", (json_int_t)i->n_parameters);
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = { { "context_length", i->context_length },
                    { "embedding_length", i->hidden_size },
                    { "block_count", i->n_layers },
                    { "attention.head_count", i->n_heads },
                    { "attention.head_count_kv", i->n_kv_heads },
                    { "vocab_size", i->vocab_size } };
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        snprintf(name, sizeof name, "%s.%s", i->arch, numbers[k].key);
        json_build_set(&info, name, json_integer(numbers[k].value));
    }
    return info;
}

static bool work(struct generation *g, struct api_error *error)
{
    (void)g;
    (void)error;
    return true;
}

static void finish(struct generation *g)
{
    const struct model *m = g->model;
    const char *source = quire_tokenizer_chat_template(quire_engine_tokenizer(m->engine), NULL);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "modelfile", "", "parameters", "", "template",
                  source ? source : "", "details", details_json(m), "model_info",
                  model_info_json(m), "capabilities", capabilities_json(m));
    json_build_set(&object, "modified_at", ollama_time((time_t)m->created));
    exchange_reply_json(g->exchange, 200, object);
}

static const struct generation_format format = { .work = work, .finish = finish };

static bool parse(struct generation *g, struct api_error *error)
{
    static const char *const harmless[] = { "verbose", "options", "system", "template", NULL };
    struct fields f;
    fields_init(&f, g->body, "", error);
    return ollama_read_model(&f, g) && fields_finish(&f, harmless);
}

void ollama_show_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &format, body, body != NULL, parse, &error);
}
