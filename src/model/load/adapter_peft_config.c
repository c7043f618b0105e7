/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_peft_config.c - adapter_config.json of PEFT: the options that change results. */
#include "model/load/adapter_peft_config.h"
#include "base/error.h"
#include <math.h>
#include <quire/adapter.h>
#include <string.h>

static const char what[] = "adapter_config.json";

/* Keys without effect on results, besides those that are read: training, initialization, and the
 * choice of modules, which the tensors of the file repeat. */
static const char *const ignored[] = {
    "auto_mapping",    "corda_config",     "ensure_weight_tying", "eva_config",
    "exclude_modules", "fan_in_fan_out",   "inference_mode",      "init_lora_weights",
    "layers_pattern",  "loftq_config",     "lora_dropout",        "lora_ga_config",
    "megatron_config", "megatron_core",    "peft_version",        "qalora_group_size",
    "revision",        "target_modules",   "task_type",           "layers_to_transform",
    "runtime_config",  "base_model_class", "parent_library",      NULL
};

/* Keys that are read, or refused by name below. */
static const char *const known[] = {
    "peft_type",     "base_model_name_or_path", "r",    "lora_alpha", "use_rslora", "rank_pattern",
    "alpha_pattern", "target_parameters",       "bias", NULL
};

/* Options of another computation, with its name. Their "off" values are null, false, 0 and empty
 * containers. */
static const struct {
    const char *key, *name;
} refused[] = {
    { "use_dora", "DoRA" },
    { "lora_bias", "a bias of B" },
    { "modules_to_save", "replaced modules" },
    { "trainable_token_indices", "trained token embeddings" },
    { "layer_replication", "replicated layers" },
    { "alora_invocation_tokens", "activated LoRA" },
    { "arrow_config", "Arrow routing" },
    { "use_qalora", "QALoRA" },
    { "use_bdlora", "block-diagonal LoRA" },
    { "kasa_config", "KaSA" },
    { "velora_config", "VeLoRA" },
    { "monteclora_config", "MonteCLoRA" },
    { NULL, NULL },
};

static bool in_list(const char *const *list, const char *key)
{
    for (; *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

/* Whether a value means that an option is not used. */
static bool is_off(const struct qr_json *v)
{
    if (!v || qr_json_is_null(v))
        return true;
    if (qr_json_is_bool(v))
        return !qr_json_is_true(v);
    if (qr_json_is_object(v) || qr_json_is_array(v))
        return qr_json_size(v) == 0;
    return qr_json_is_number(v) && qr_json_number(v) == 0;
}

static quire_status check_options(const struct qr_json *root,
                                  const struct qr_unknown_policy *policy, struct quire_error *err)
{
    for (size_t i = 0; refused[i].key; i++)
        if (!is_off(qr_json_get(root, refused[i].key)))
            return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s: %s: %s is not supported", what,
                           refused[i].key, refused[i].name);
    for (struct qr_json_iter i = qr_json_iterate(root); qr_json_next(&i);) {
        bool listed = in_list(ignored, i.key) || in_list(known, i.key);
        for (size_t r = 0; refused[r].key && !listed; r++)
            listed = strcmp(refused[r].key, i.key) == 0;
        if (!listed && !is_off(i.value))
            QR_TRY(qr_unknown_report(policy, err, "%s: the key %.80s is not known", what, i.key));
    }
    return QUIRE_OK;
}

/* Checks the pattern keys: module names, whose dots may be escaped, with or without '^'. Other
 * regular expressions are refused. */
static quire_status check_pattern(const struct qr_json *pattern, const char *key, double most,
                                  struct quire_error *err)
{
    if (pattern && !qr_json_is_null(pattern) && !qr_json_is_object(pattern))
        return qr_fail(err, QUIRE_E_FORMAT, "%s: %s is no object", what, key);
    for (struct qr_json_iter i = qr_json_iterate(pattern); qr_json_next(&i);) {
        double v;
        for (const char *p = i.key + (*i.key == '^'); *p; p++)
            if (strchr("^$*+?()[]{}|", *p) || (*p == '\\' && p[1] != '.'))
                return qr_fail(err, QUIRE_E_UNSUPPORTED,
                               "%s: %s: the regular expression %.80s is not supported", what, key,
                               i.key);
        if (!qr_json_is_f64(i.value, &v) || fabs(v) > most || (most < 1e6 && v < 1))
            return qr_fail(err, QUIRE_E_FORMAT, "%s: %s: the value of %.80s is out of range", what,
                           key, i.key);
    }
    return QUIRE_OK;
}

static quire_status read_values(struct qr_peft_config *c, struct quire_error *err)
{
    const char *type = NULL, *bias = NULL;
    enum qr_json_state state;
    QR_TRY(qr_json_str(c->root, what, "peft_type", &type, &state, err));
    if (!type || strcmp(type, "LORA") != 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s: peft_type is \"%.40s\", not \"LORA\"", what,
                       type ? type : "");
    QR_TRY(qr_json_str(c->root, what, "bias", &bias, &state, err));
    if (bias && strcmp(bias, "none") != 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "%s: bias is \"%.40s\"; only \"none\" is supported", what, bias);
    QR_TRY(qr_json_str(c->root, what, "base_model_name_or_path", &c->base_model, &state, err));
    QR_TRY(qr_json_u32(c->root, what, "r", &c->rank, &state, err));
    if (c->rank < 1 || c->rank > QUIRE_ADAPTER_MAX_RANK)
        return qr_fail(err, QUIRE_E_FORMAT, "%s: r is %u, not 1 to %d", what, c->rank,
                       QUIRE_ADAPTER_MAX_RANK);
    QR_TRY(qr_json_f64(c->root, what, "lora_alpha", &c->alpha, &state, err));
    if (state != QR_JSON_PRESENT)
        return qr_fail(err, QUIRE_E_FORMAT, "%s: lora_alpha is missing", what);
    QR_TRY(qr_json_bool(c->root, what, "use_rslora", &c->rslora, &state, err));
    c->rank_pattern = qr_json_get(c->root, "rank_pattern");
    c->alpha_pattern = qr_json_get(c->root, "alpha_pattern");
    QR_TRY(check_pattern(c->rank_pattern, "rank_pattern", QUIRE_ADAPTER_MAX_RANK, err));
    QR_TRY(check_pattern(c->alpha_pattern, "alpha_pattern", 1e30, err));
    c->target_parameters = !is_off(qr_json_get(c->root, "target_parameters"));
    return QUIRE_OK;
}

quire_status qr_peft_config_parse(const char *text, size_t size,
                                  const struct qr_unknown_policy *policy,
                                  const struct quire_allocator *a, struct qr_peft_config *out,
                                  struct quire_error *err)
{
    *out = (struct qr_peft_config){ .base_model = "" };
    QR_TRY(qr_json_parse_object(text, size, what, 0, a, &out->root, err));
    QR_TRY(check_options(out->root, policy, err));
    return read_values(out, err);
}

void qr_peft_config_free(struct qr_peft_config *c)
{
    qr_json_free(c->root);
    c->root = NULL;
}

/* Whether a pattern names the module: the whole name, or without '^' its end after a dot. */
static bool matches(const char *pattern, const char *module)
{
    const bool whole = *pattern == '^';
    size_t n = 0;
    pattern += whole;
    for (const char *p = pattern; *p; p++)
        n += *p != '\\';
    const size_t size = strlen(module);
    if (n > size || (whole && n != size) || (n < size && module[size - n - 1] != '.'))
        return false;
    const char *m = module + size - n;
    for (const char *p = pattern; *p; p++)
        if (*p != '\\' && *p != *m++)
            return false;
    return true;
}

static const struct qr_json *find(const struct qr_json *pattern, const char *module)
{
    for (struct qr_json_iter i = qr_json_iterate(pattern); qr_json_next(&i);)
        if (matches(i.key, module))
            return i.value;
    return NULL;
}

uint32_t qr_peft_rank(const struct qr_peft_config *c, const char *module)
{
    const struct qr_json *v = find(c->rank_pattern, module);
    return v ? (uint32_t)qr_json_number(v) : c->rank;
}

double qr_peft_scale(const struct qr_peft_config *c, const char *module, uint32_t rank)
{
    const struct qr_json *v = find(c->alpha_pattern, module);
    const double alpha = v ? qr_json_number(v) : c->alpha;
    return alpha / (c->rslora ? sqrt(rank) : rank);
}
