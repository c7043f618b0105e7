/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_shim_isa.c - quire_onednn_set_isa: caps oneDNN at the instructions of a level. */
#include "base/error.h"
#include "kernels/dispatch.h"
#include <dnnl.h>
#include <quire/model.h>
#include <quire/onednn.h>
#include <string.h>

#define ISAS(X)                                                                                    \
    X(sse41)                                                                                       \
    X(avx2) X(avx2_vnni) X(avx512_core) X(avx512_core_vnni) X(avx512_core_bf16) X(avx512_core_amx)
#define ISA(isa) { #isa, dnnl_cpu_isa_##isa },

quire_status quire_onednn_set_isa(const char *isa, struct quire_error *err)
{
    static const struct {
        const char *name;
        dnnl_cpu_isa_t isa;
    } isas[] = { ISAS(ISA) };
    const struct qr_kernels *kernels;
    QR_TRY(qr_kernels_get(isa, &kernels, err));
    const char *name = qr_level_onednn_isa(kernels->level);
    for (size_t i = 0; name && i < sizeof isas / sizeof isas[0]; i++) {
        if (strcmp(isas[i].name, name) != 0)
            continue;
        const dnnl_status_t s = dnnl_set_max_cpu_isa(isas[i].isa);
        if (s == dnnl_success)
            return QUIRE_OK;
        if (s == dnnl_invalid_arguments) /* oneDNN fixes its ISA at its first use */
            return qr_fail(err, QUIRE_E_BUSY, "oneDNN is in use already: too late to cap it at %s",
                           kernels->level);
        return qr_fail(err, s == dnnl_unimplemented ? QUIRE_E_UNSUPPORTED : QUIRE_E_INTERNAL,
                       "oneDNN cannot be capped at %s: status %d", kernels->level, (int)s);
    }
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN has no ISA for level %s", kernels->level);
}
