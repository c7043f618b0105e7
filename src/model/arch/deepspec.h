/* SPDX-License-Identifier: Apache-2.0 */
/* deepspec.h - what the drafters of DeepSpec have in common: files with the keys of the model's
 * configuration, and layers of it without a window. */
#ifndef QR_MODEL_ARCH_DEEPSPEC_H
#define QR_MODEL_ARCH_DEEPSPEC_H
#include "model/arch/arch.h"

extern const struct qr_ignored_key qr_deepspec_ignored_keys[];
extern const struct qr_hf_default qr_deepspec_gemma4_defaults[];
extern const struct qr_hf_fixed_bool qr_deepspec_gemma4_bools[];

/* Names of drafters for Gemma 4 that those for Qwen 3 do not have, or for other tensors. */
extern const struct qr_name_rule qr_deepspec_gemma4_names[];

#endif
