/* SPDX-License-Identifier: Apache-2.0 */
/* hf_classifier.c - classification heads: number of labels, input, activation of the scores. */
#include "model/config/hf_classifier.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <string.h>

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_classifier(const struct qr_hf_source *h)
{
    const struct qr_json *list = qr_json_get(h->root, "architectures");
    if (!qr_json_is_array(list))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        if (qr_json_is_string(i.value) &&
            ends_with(qr_json_string(i.value), "ForSequenceClassification"))
            return true;
    return false;
}

/* id2label has one entry per label; the reference implementation has 2 labels by default. */
static quire_status read_labels(const struct qr_hf_source *h)
{
    static const char *const keys[] = { "num_labels", "_num_labels", NULL };
    const struct qr_json *names = qr_json_get(h->root, "id2label");
    bool has;
    h->cfg->n_labels = 2;
    if (!qr_json_is_object(names))
        return qr_hf_first_u32(h, keys, &h->cfg->n_labels, &has);
    h->cfg->n_labels = (uint32_t)qr_json_size(names); /* of a file below 4 GiB */
    return QUIRE_OK;
}

static quire_status read_input(const struct qr_hf_source *h)
{
    const char *pooling = "cls";
    if (h->cfg->class_head != QR_CLASS_MASKED)
        return QUIRE_OK;
    QR_TRY(qr_hf_str(h, "classifier_pooling", &pooling));
    h->cfg->class_mean = strcmp(pooling, "mean") == 0;
    if (!h->cfg->class_mean && strcmp(pooling, "cls") != 0)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: classifier_pooling %.60s is not supported", pooling);
    return QUIRE_OK;
}

/* sentence-transformers names the class of the activation; without a name it is the logistic
 * function for one label and none for several. */
static quire_status read_activation(const struct qr_hf_source *h)
{
    enum qr_json_state state;
    const char *name = NULL;
    const struct qr_json *st = qr_json_get(h->root, "sentence_transformers");
    h->cfg->sigmoid_scores = h->cfg->n_labels == 1;
    if (qr_json_is_object(st))
        QR_TRY(qr_json_str(st, "config.json", "activation_fn", &name, &state, h->err));
    if (!name)
        QR_TRY(qr_hf_str(h, "sbert_ce_default_activation_function", &name));
    if (!name)
        return QUIRE_OK;
    h->cfg->sigmoid_scores = ends_with(name, ".Sigmoid");
    if (!h->cfg->sigmoid_scores && !ends_with(name, ".Identity"))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: activation function %.80s of the scores is not supported",
                       name);
    return QUIRE_OK;
}

quire_status qr_hf_read_classifier(const struct qr_hf_source *h)
{
    const bool decoder = h->cfg->kind == QR_MODEL_DECODER;
    const enum qr_class_head head = decoder ? QR_CLASS_PLAIN : h->arch->hf_class_head;
    if (head == QR_CLASS_NONE || !is_classifier(h))
        return QUIRE_OK;
    h->cfg->class_head = head;
    QR_TRY(read_labels(h));
    QR_TRY(read_input(h));
    return read_activation(h);
}
