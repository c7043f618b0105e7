/* SPDX-License-Identifier: Apache-2.0 */
/** Adapters: LoRA and rsLoRA updates of a model's matrices, applied per sequence.
 *
 *  An adapter holds for some matrices W of a model two matrices A [rank][in] and B [out][rank]. A
 *  row of a step that uses the adapter computes y = W x + scale * B (A x) there. The weights of the
 *  model are not changed: one step may mix sequences of several adapters, each with a scale of its
 *  own, and sequences without one.
 *
 *      struct quire_adapter_params ap;
 *      quire_adapter_params_init(&ap, sizeof ap);
 *      ap.path = "my-adapter";
 *      quire_adapter_open(model, &ap, &adapter, &err);
 *
 *  Steps take adapters in struct quire_forward_args (quire/model.h), requests in struct
 *  quire_request_params; quire_engine_add_adapter() gives one a name (quire/engine_adapter.h).
 *
 *  Formats (docs/adapters.md): PEFT folders (adapter_config.json and adapter_model.safetensors) and
 *  GGUF adapters (general.type "adapter", adapter.type "lora"), both for models of either format.
 *  Whatever changes the computation in another way is refused by name: DoRA, trained biases,
 *  replaced modules and the like.
 *
 *  Threads: an adapter is immutable after open; any number of contexts and threads may use it. */
#ifndef QUIRE_ADAPTER_H
#define QUIRE_ADAPTER_H
#include <quire/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_model;
struct quire_adapter; /**< An open adapter: shared, immutable. */

enum { QUIRE_ADAPTER_MAX_RANK = 1024 };

/** Flags of quire_adapter_params. */
enum {
    /** Unsafe: keys of adapter_config.json that quire does not know are warnings instead of
     *  QUIRE_E_UNSUPPORTED. If one asks for another computation, results are wrong. */
    QUIRE_ADAPTER_ALLOW_UNKNOWN = 1u << 0,
};

struct quire_adapter_params {
    uint32_t struct_size;
    const char *path; /**< a PEFT folder or a .gguf file; borrowed during open */
    const void *data; /**< with path NULL: a GGUF image in memory, borrowed during open */
    size_t data_bytes;
    uint32_t flags; /**< QUIRE_ADAPTER_* */
    const struct quire_allocator
        *allocator;                    /**< borrowed, outlives the adapter; NULL = C library */
    const struct quire_logger *logger; /**< borrowed during open; NULL = silent */
};
QUIRE_API void quire_adapter_params_init(struct quire_adapter_params *params, size_t struct_size);

/** Opens an adapter for a model, which must outlive it, and checks it against the shapes of the
 *  model. Messages name the tensor or field. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE struct_size; QUIRE_E_IO; QUIRE_E_FORMAT malformed files, a
 *  rank of 0 or above QUIRE_ADAPTER_MAX_RANK, A without B, a value or scale that is not finite;
 *  QUIRE_E_MISMATCH the adapter belongs to another model: a module or layer that the model does not
 *  have, or other shapes; QUIRE_E_UNSUPPORTED an option, a module that cannot be adapted, or a
 *  model that is no decoder; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_adapter_open(struct quire_model *model, const struct quire_adapter_params *params,
                   struct quire_adapter **out, struct quire_error *err);

/** Frees an adapter; NULL is a no-op. While an engine holds it or a step uses it: QUIRE_E_BUSY, and
 *  nothing is freed. */
QUIRE_API quire_status quire_adapter_close(struct quire_adapter *adapter);

/** Append only. */
enum quire_adapter_format {
    QUIRE_ADAPTER_PEFT,
    QUIRE_ADAPTER_GGUF,
};

/** Properties of an open adapter. Strings live as long as the adapter. */
struct quire_adapter_info {
    uint32_t struct_size; /**< set by the caller */
    enum quire_adapter_format format;
    /** base_model_name_or_path of a PEFT folder, general.name of a GGUF file; "" if absent */
    const char *base_model;
    uint32_t rank;      /**< largest rank of its modules */
    uint32_t n_modules; /**< adapted matrices; each expert counts */
    uint64_t n_parameters;
    uint64_t bytes;       /**< memory of the matrices */
    uint64_t fingerprint; /**< hash of all matrices and scales, which names the adapter in files */
};
QUIRE_API void quire_adapter_info_init(struct quire_adapter_info *info, size_t struct_size);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_adapter_get_info(const struct quire_adapter *adapter,
                                                               struct quire_adapter_info *info);

#ifdef __cplusplus
}
#endif
#endif
