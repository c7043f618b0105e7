# SPDX-License-Identifier: Apache-2.0
# Flags of every target. FMA only where the source calls it: contraction would change results between builds.
add_library(quire_flags INTERFACE)
target_compile_definitions(quire_flags INTERFACE _GNU_SOURCE)
target_compile_options(quire_flags INTERFACE
  -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wconversion -Wno-sign-conversion
  -ffp-contract=off -fno-math-errno -fstack-protector-strong -fno-strict-aliasing)
if(QUIRE_WERROR)
  target_compile_options(quire_flags INTERFACE -Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(quire_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
target_link_options(quire_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
