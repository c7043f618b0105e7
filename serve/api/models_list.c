/* SPDX-License-Identifier: Apache-2.0 */
#include "models_list.h"
#include "adapter_list.h"
#include "error.h"
#include "exchange.h"
#include "json_build.h"
#include "model_list.h"
#include "registry.h"
#include "server.h"

/* Sizes of a model, of llama.cpp's list; null until it has been open once. */
static json_t *meta_json(const struct model *m)
{
    const struct quire_model_info *i = &m->model_info;
    if (i->vocab_size == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "n_vocab", (json_int_t)i->vocab_size,
                     "n_ctx", (json_int_t)m->info.context_length, "n_ctx_train",
                     (json_int_t)i->context_length, "n_embd", (json_int_t)i->hidden_size,
                     "n_params", (json_int_t)i->n_parameters, "size", (json_int_t)i->weight_bytes);
}

static json_t *model_json(const struct model *m)
{
    static const char *const states[] = { "closed", "opening", "open", "closing" };
    json_t *aliases = json_array();
    for (const char *const *a = m->aliases; *a != NULL; a++)
        json_build_append(&aliases, json_string(*a));
    json_t *length = json_null(); /* vLLM's name */
    if (m->info.context_length > 0)
        length = json_integer(m->info.context_length);
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:n, s:o, s:o, s:s, s:o}", "id", m->name, "object",
                     "model", "created", (json_int_t)m->created, "owned_by", "quire", "root",
                     m->name, "parent", "max_model_len", length, "aliases", aliases, "state",
                     states[m->state], "meta", meta_json(m));
}

/* An adapter is a model whose parent is the first one. */
static json_t *adapter_json(struct registry *r, const struct adapter_entry *a)
{
    const struct model *m = registry_model(r, 0);
    json_t *object = model_json(m);
    json_build_set(&object, "id", json_string(a->name));
    json_build_set(&object, "root", json_string(a->path));
    json_build_set(&object, "parent", json_string(m->name));
    json_build_set(&object, "aliases", json_array());
    return object;
}

void models_list_route(struct exchange *x)
{
    json_t *data = json_array();
    const struct model *m;
    for (unsigned i = 0; (m = registry_model(x->server->registry, i)) != NULL; i++)
        json_build_append(&data, model_json(m));
    const struct adapter_entry *a;
    for (unsigned i = 0; (a = adapter_list_at(x->server->registry, i)) != NULL; i++)
        json_build_append(&data, adapter_json(x->server->registry, a));
    exchange_reply_json(x, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

void models_get_route(struct exchange *x)
{
    struct api_error error = { 0 };
    const struct adapter_entry *a = adapter_list_find(x->server->registry, x->path_rest);
    if (a != NULL) {
        exchange_reply_json(x, 200, adapter_json(x->server->registry, a));
        return;
    }
    const struct model *m = registry_find(x->server->registry, x->path_rest, &error);
    if (m != NULL)
        exchange_reply_json(x, 200, model_json(m));
    else
        exchange_reply_error(x, &error);
}
