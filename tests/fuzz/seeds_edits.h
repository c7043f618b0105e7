/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_edits.h - seeds of the targets that edit valid files. */
#ifndef QUIRE_FUZZ_SEEDS_EDITS_H
#define QUIRE_FUZZ_SEEDS_EDITS_H
#include "seeds_adapter.h"

void edit_seeds(save_seed_fn *save);

#endif
