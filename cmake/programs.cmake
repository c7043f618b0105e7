# SPDX-License-Identifier: Apache-2.0
# quire-chat, quire-eval, quire-quantize and quire-bench. They include <quire/...> and json/ only, except for
# quire-quantize, eval_imatrix.c and parts of quire-bench.
set(QUIRE_BUNDLED ${PROJECT_SOURCE_DIR}/models/quire-tiny/quire-tiny.gguf)
if(EXISTS ${QUIRE_BUNDLED})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/chat/bundled.c PROPERTIES OBJECT_DEPENDS ${QUIRE_BUNDLED})
endif()
if(QUIRE_BUILD_CHAT AND QUIRE_WITH_TEXT)
  file(GLOB chat_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chat/*.c)
  add_executable(quire-chat ${chat_sources})
  target_link_libraries(quire-chat PRIVATE quire quire_json quire_flags quire_dep_utf8proc)
  if(EXISTS ${QUIRE_BUNDLED})
    target_compile_definitions(quire-chat PRIVATE QUIRE_BUNDLED_MODEL="${QUIRE_BUNDLED}")
  endif()
endif()

if(QUIRE_BUILD_BENCH AND QUIRE_WITH_TEXT)
  file(GLOB eval_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/eval*.c ${PROJECT_SOURCE_DIR}/bench/json_slice.c
    ${PROJECT_SOURCE_DIR}/bench/tensor_file.c ${PROJECT_SOURCE_DIR}/bench/bench_gguf.c
    ${PROJECT_SOURCE_DIR}/chat/file_faults.c)
  add_executable(quire-eval ${eval_sources})
  target_link_libraries(quire-eval PRIVATE quire_internal ${QUIRE_LIBM})
endif()

# quire-quantize links the readers of GGUF files, and shares files with quire-eval and quire-bench.
if(QUIRE_BUILD_BENCH AND QUIRE_WITH_TEXT)
  file(GLOB quantize_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/quantize/*.c)
  set(encoders ${quantize_sources})
  list(FILTER encoders INCLUDE REGEX "/(encode[^/]*|fit)[.]c$")
  list(REMOVE_ITEM quantize_sources ${encoders})
  add_library(quire_encoders STATIC ${encoders}) # for the tests, too
  target_include_directories(quire_encoders PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(quire_encoders PRIVATE quire_internal quire_flags ${QUIRE_LIBM})
  # lets the compiler vectorize the loops of rounding, in which an encoder spends its time
  target_compile_options(quire_encoders PRIVATE -O3 -fno-math-errno -fno-trapping-math)
  add_executable(quire-quantize ${quantize_sources} ${PROJECT_SOURCE_DIR}/bench/bench_gguf.c
    ${PROJECT_SOURCE_DIR}/bench/eval_divergence.c ${PROJECT_SOURCE_DIR}/bench/eval_input.c
    ${PROJECT_SOURCE_DIR}/bench/eval_run.c)
  target_include_directories(quire-quantize PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(quire-quantize PRIVATE quire_encoders quire_internal ${QUIRE_LIBM})
endif()

# quire-bench. roofline, linear and overhead link internals; the commands that open models need QUIRE_WITH_TEXT.
if(QUIRE_BUILD_BENCH)
  file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench*.c ${PROJECT_SOURCE_DIR}/chat/file_faults.c)
  if(NOT QUIRE_WITH_TEXT)
    list(FILTER bench_sources EXCLUDE REGEX "/bench_(adapter|model|session|serve|compare|peer|start|contention|targets|synth|gguf)[^/]*$")
  endif()
  add_executable(quire-bench ${bench_sources})
  target_include_directories(quire-bench PRIVATE ${PROJECT_SOURCE_DIR}/bench ${CMAKE_BINARY_DIR}/bench)
  target_link_libraries(quire-bench PRIVATE quire_internal ${QUIRE_LIBM})
  # Peak loops of each ISA level of the library that has a peak.c, compiled with the flags of the level.
  get_target_property(levels quire_objects COMPILE_DEFINITIONS)
  list(FILTER levels INCLUDE REGEX "^QUIRE_HAVE_LEVEL_")
  list(TRANSFORM levels REPLACE "^QUIRE_HAVE_LEVEL_(.*)=1$" "\\1")
  list(PREPEND levels generic)
  set(peak_levels "")
  foreach(level IN LISTS levels)
    set(peak ${PROJECT_SOURCE_DIR}/bench/isa/${level}/peak.c)
    if(EXISTS ${peak})
      set_source_files_properties(${peak} PROPERTIES COMPILE_OPTIONS "${QUIRE_FLAGS_${level}};-fno-lto")
      target_sources(quire-bench PRIVATE ${peak})
      string(APPEND peak_levels "PEAK(${level})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bench/peak_levels.inc CONTENT "${peak_levels}")
endif()

# quire-server: serve/ on libmicrohttpd, GnuTLS and Jansson.
if(QUIRE_WITH_SERVER)
  file(GLOB serve_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/serve/*.c ${PROJECT_SOURCE_DIR}/serve/*/*.c
    ${PROJECT_SOURCE_DIR}/chat/bundled.c ${PROJECT_SOURCE_DIR}/chat/numbers.c ${PROJECT_SOURCE_DIR}/chat/option_table.c)
  add_executable(quire-server ${serve_sources})
  foreach(folder . http api models operation web)
    target_include_directories(quire-server PRIVATE ${PROJECT_SOURCE_DIR}/serve/${folder})
  endforeach()
  target_include_directories(quire-server PRIVATE ${PROJECT_SOURCE_DIR}/chat)
  if(EXISTS ${QUIRE_BUNDLED})
    target_compile_definitions(quire-server PRIVATE QUIRE_BUNDLED_MODEL="${QUIRE_BUNDLED}")
  endif()
  include(cmake/web_pages.cmake)
  target_link_libraries(quire-server PRIVATE quire quire_flags quire_dep_microhttpd quire_dep_jansson quire_dep_gnutls
    Threads::Threads ${QUIRE_LIBM})
endif()
