# SPDX-License-Identifier: Apache-2.0
# Flags of every target; tests/package/hardening.sh reads their effect from the files built. FMA only where the source calls it: contraction would change results between builds.
add_library(quire_flags INTERFACE)
target_compile_definitions(quire_flags INTERFACE _GNU_SOURCE)
target_compile_options(quire_flags INTERFACE
  -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wconversion -Wno-sign-conversion
  -ffp-contract=off -fno-math-errno -fstack-protector-strong -fno-strict-aliasing)
if(QUIRE_WERROR)
  target_compile_options(quire_flags INTERFACE -Werror)
endif()

# Exploit mitigations. A compiler that lacks one builds without it.
include(CheckCCompilerFlag)
set(flags -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND flags -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND flags -mbranch-protection=standard)
endif()
foreach(flag IN LISTS flags)
  string(MAKE_C_IDENTIFIER "QUIRE_CC${flag}" has)
  check_c_compiler_flag(${flag} ${has})
  if(${has})
    target_compile_options(quire_flags INTERFACE ${flag})
  endif()
endforeach()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(quire_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
set(QUIRE_LINK_FLAGS -Wl,-z,relro,-z,now,-z,noexecstack)
target_link_options(quire_flags INTERFACE ${QUIRE_LINK_FLAGS})

# Locals of the code that reads foreign bytes start as zero. Kernels and attention do without: their tiles are large
# and written before they are read, which MemorySanitizer checks.
check_c_compiler_flag(-ftrivial-auto-var-init=zero QUIRE_CC_auto_var_init)

# No absolute path in any file: the same sources give the same bytes wherever they stand.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
