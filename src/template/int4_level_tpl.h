/* SPDX-License-Identifier: Apache-2.0 */
/* int4_level_tpl.h - the level of an int4 code, computed instead of looked up, so that loops over
 * codes are vectorized and MemorySanitizer sees no index from memory that was never written. */
#ifndef QR_INT4_LEVEL_TPL_H
#define QR_INT4_LEVEL_TPL_H
#include "template/common_tpl.h"

QR_INLINE int int4_level(int code)
{
    const int above = (code > 11) + 2 * (code > 13) + 2 * (code > 14),
              below = (code < 4) + 2 * (code < 2) + 2 * (code < 1);
    return 2 * code - 15 + above - below;
}

#endif
