/* SPDX-License-Identifier: Apache-2.0 */
/* mtp_tensors.c - counts the heads of multi-token prediction of a file. */
#include "model/load/mtp_tensors.h"
#include "base/error.h"
#include "model/load/tensor_names.h"
#include "model/load/weights_source.h"

quire_status qr_mtp_tensors_check(struct qr_weights *w, struct quire_error *err)
{
    char name[QR_NAME_MAX] = "";
    size_t tensor;
    uint32_t n = 0;
    /* GCOVR_EXCL_BR_LINE: qr_model_config_select_mtp refuses families without names of heads */
    while (n < w->config.n_layers && qr_tensor_rule(w, QR_W_MTP_PROJ, n, 0, name) &&
           qr_weights_source_find(w, name, &tensor))
        n++;
    if (n == 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "the model has no head of multi-token prediction: tensor %s is missing",
                       name);
    w->config.n_layers = n;
    return QUIRE_OK;
}
