# SPDX-License-Identifier: Apache-2.0
# Compile flags of each ISA level, the only -m flags of the build. A level has one folder, one set of flags, one CPUID
# mask, and its name as symbol suffix.
set(QUIRE_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(QUIRE_FLAGS_avx2_vnni ${QUIRE_FLAGS_avx2} -mavxvnni)
set(QUIRE_FLAGS_avx512 ${QUIRE_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(QUIRE_FLAGS_avx512_vnni ${QUIRE_FLAGS_avx512} -mavx512vnni)
set(QUIRE_FLAGS_avx512_bf16 ${QUIRE_FLAGS_avx512_vnni} -mavx512vbmi -mavx512bf16)
set(QUIRE_FLAGS_avx512_amx ${QUIRE_FLAGS_avx512_bf16} -mamx-tile -mamx-bf16 -mamx-int8)
set(QUIRE_FLAGS_neon -march=armv8-a)
set(QUIRE_FLAGS_neon_dotprod -march=armv8.2-a+dotprod)
set(QUIRE_FLAGS_neon_i8mm -march=armv8.2-a+dotprod+i8mm)
set(QUIRE_FLAGS_sve256 -march=armv8.2-a+dotprod+i8mm+sve -msve-vector-bits=256)

# Fuzzing needs neither instrumented kernels nor many levels, which take clang minutes: kerncheck checks their accesses
# by guard pages.
if(CMAKE_C_FLAGS MATCHES "fsanitize=[a-z,]*fuzzer-no-link")
  set(QUIRE_UNSANITIZED -fno-sanitize=all)
  set(QUIRE_UP_TO_AVX2 ON)
endif()

# Levels whose kernels are instrumented in sanitizer builds; empty: all. Those that a CPU cannot run need no minutes:
# without one above AVX2 the build ends there.
set(QUIRE_SANITIZED_LEVELS "" CACHE STRING "ISA levels with sanitizers; empty: all")
if("avx2" IN_LIST QUIRE_SANITIZED_LEVELS AND NOT QUIRE_SANITIZED_LEVELS MATCHES "avx512|vnni")
  set(QUIRE_UP_TO_AVX2 ON)
endif()

# Further compile options of instrumented kernels.
set(QUIRE_SANITIZED_KERNEL_FLAGS "" CACHE STRING "compile options of kernels in sanitizer builds, a list")

# The FMA instruction has the bits of qr_fmaf(), which takes most of the time of many tests without it.
option(QUIRE_GENERIC_FMA "Generic kernels use the FMA instruction of x86: for tests only" OFF)
if(QUIRE_GENERIC_FMA OR "avx2" IN_LIST QUIRE_SANITIZED_LEVELS)
  set(generic_fma -mfma)
endif()

# Kernels count without atomic instructions, which would take most of the time of a coverage run: threads contend for the
# counters. Counts can get lost, a count that is not 0 does not become 0. Inlining as in the other build types. Fuzz
# targets do not count in kernels, whose loops have no branches to find.
if(CMAKE_BUILD_TYPE STREQUAL "Coverage")
  set(QUIRE_KERNEL_COUNTERS -finline -fprofile-update=single)
elseif(CMAKE_C_FLAGS MATCHES "fsanitize-coverage=([a-z0-9,-]*)")
  set(QUIRE_KERNEL_COUNTERS -fno-sanitize-coverage=${CMAKE_MATCH_1})
endif()
file(GLOB srcs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/generic/*.c)
set_source_files_properties(${srcs} PROPERTIES
  COMPILE_OPTIONS "${generic_fma};${QUIRE_SANITIZED_KERNEL_FLAGS};${QUIRE_KERNEL_COUNTERS}")

# At -O0 GCC keeps every variable of the functions that kernels inline: 10 minutes and 9 GB for one file of int8 kernels,
# against 1.5 minutes and 1 GB.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(QUIRE_DEBUG_KERNEL_FLAGS -O1)
endif()

# MemorySanitizer runs the generic level only: it has no model of most intrinsics.
if(CMAKE_C_FLAGS MATCHES "fsanitize=memory")
  target_compile_definitions(quire_objects PRIVATE QUIRE_GENERIC_ONLY=1)
  return()
endif()

# Adds every source of src/<dir> to the targets, compiled for `level`.
function(quire_isa level dir)
  file(GLOB srcs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${dir}/*.c)
  if(QUIRE_SANITIZED_LEVELS AND NOT level IN_LIST QUIRE_SANITIZED_LEVELS)
    set(QUIRE_UNSANITIZED -fno-sanitize=all)
  endif()
  set_source_files_properties(${srcs} PROPERTIES COMPILE_OPTIONS "${QUIRE_FLAGS_${level}};-fno-lto;${QUIRE_SANITIZED_KERNEL_FLAGS};${QUIRE_UNSANITIZED};${QUIRE_KERNEL_COUNTERS};${QUIRE_DEBUG_KERNEL_FLAGS}")
  target_sources(quire_objects PRIVATE ${srcs})
  target_compile_definitions(quire_objects PRIVATE QUIRE_HAVE_LEVEL_${level}=1)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  quire_isa(avx2 avx2)
  if(QUIRE_UP_TO_AVX2)
    target_compile_definitions(quire_objects PRIVATE QUIRE_UP_TO_AVX2=1)
  else()
    quire_isa(avx2_vnni avx2/vnni)
    quire_isa(avx512 avx512)
    quire_isa(avx512_vnni avx512/vnni)
    quire_isa(avx512_bf16 avx512/bf16)
    quire_isa(avx512_amx avx512/amx)
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  quire_isa(neon neon)
  quire_isa(neon_dotprod neon/dotprod)
  quire_isa(neon_i8mm neon/i8mm)
  quire_isa(sve256 sve256)
endif()
