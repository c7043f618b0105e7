/* SPDX-License-Identifier: Apache-2.0 */
/* state_layout.h - where the recurrent layers of a model lie in the state of a sequence. */
#ifndef QR_MODEL_STATE_LAYOUT_H
#define QR_MODEL_STATE_LAYOUT_H
#include "model/load/model.h"

/* Counts up when the elements of a state change their order: cache files hold states.
 * 2: tiles of QR_SCAN_COLUMNS columns. */
enum { QR_STATE_LAYOUT = 2 };

/* Assigns the offsets of all recurrent layers and the size of a state. A layer has the last inputs
 * of its convolution, [taps - 1][channels], oldest first, and then the state in the tiles of
 * QR_SCAN_COLUMNS; both begin at multiples of 64 bytes. Layers with convolutional attention have
 * the last inputs of both convolutions and, behind those of the second, the values of the last
 * token for the next one.
 * bf16: the tiles are bf16, and m->bf16_states is set, if the model has layers with tiles; WKV has
 * none. QUIRE_E_LIMIT. */
quire_status qr_model_place_states(struct quire_model *m, bool bf16, struct quire_error *err);

#endif
