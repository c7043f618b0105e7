/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence_recurrent.h - the roles of recurrent layers that a configuration implies. */
#ifndef QR_MODEL_LOAD_ROLE_PRESENCE_RECURRENT_H
#define QR_MODEL_LOAD_ROLE_PRESENCE_RECURRENT_H
#include "model/load/role_presence.h"

/* Of a role QR_W_REC_* in a recurrent layer; `first`: the first of the model. */
enum qr_presence qr_recurrent_role_presence(const struct qr_recurrent_config *r,
                                            enum qr_weight_role role, bool first);

#endif
