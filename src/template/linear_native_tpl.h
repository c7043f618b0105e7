/* SPDX-License-Identifier: Apache-2.0 */
/* linear_native_tpl.h - bf16 activations times bf16 panels. Needs what linear_float_tpl.h needs. */
#include "template/linear_float_tpl.h"

LINEAR_FLOAT_CHUNK(native, LINEAR_NATIVE, 4)

void QR_KERNEL(linear_native_bf16)(const struct qr_linear_kernel_args *a)
{
#if defined(__AVX512BF16__) /* vdpbf16ps treats denormals as zero in every mode */
    linear_float_run(a, LINEAR_NATIVE, linear_chunk_native);
#else
    const uint64_t state = qr_flush_begin();
    linear_float_run(a, LINEAR_NATIVE, linear_chunk_native);
    qr_flush_end(state);
#endif
}
