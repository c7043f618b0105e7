/* SPDX-License-Identifier: Apache-2.0 */
/* hf_unknown.h - finds keys of config.json that the configuration does not account for. */
#ifndef QR_MODEL_CONFIG_HF_UNKNOWN_H
#define QR_MODEL_CONFIG_HF_UNKNOWN_H
#include "model/config/hf_keys.h"
#include "model/config/unknown.h"

/* Reports every key of h->root, of the whole file for heads in files of their own, and of the
 * objects in it that were read, that was neither looked up nor is known to change no result. null,
 * false, 0 and empty values switch an option off: they count as known unless a list names another
 * value. Call it last. */
quire_status qr_hf_check_unknown(const struct qr_hf_source *h,
                                 const struct qr_unknown_policy *policy);

#endif
