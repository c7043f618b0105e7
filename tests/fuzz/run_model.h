/* SPDX-License-Identifier: Apache-2.0 */
/* run_model.h - opens a model of untrusted files and runs one step of it. */
#ifndef QUIRE_FUZZ_RUN_MODEL_H
#define QUIRE_FUZZ_RUN_MODEL_H
#include "fuzz.h"
#include <quire/model.h>

/* Opens the model of mp; `input` is the number of bytes of its files. If that succeeds, a context
 * is created and a short step computed. Weights may be NaN, so the results are not checked. */
void run_model(struct quire_model_params mp, size_t input);

#endif
