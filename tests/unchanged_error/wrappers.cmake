# SPDX-License-Identifier: Apache-2.0
# Wrappers of public functions that check that success leaves the error record unchanged: see generate.py.
find_program(QUIRE_PYTHON3 python3)
if(QUIRE_PYTHON3)
  set(wrappers ${CMAKE_CURRENT_BINARY_DIR}/unchanged_error)
  add_custom_command(OUTPUT ${wrappers}.c ${wrappers}.flags
    COMMAND ${QUIRE_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/generate.py ${CMAKE_NM} $<TARGET_FILE:quire_static>
      ${PROJECT_SOURCE_DIR}/include ${wrappers}.c ${wrappers}.flags
    DEPENDS quire_static ${CMAKE_CURRENT_LIST_DIR}/generate.py VERBATIM)
  add_library(unchanged_error OBJECT ${wrappers}.c)
  target_include_directories(unchanged_error PRIVATE ${PROJECT_SOURCE_DIR}/include)
endif()

function(quire_check_unchanged_error target)
  if(TARGET unchanged_error)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:unchanged_error>)
    target_link_options(${target} PRIVATE @${wrappers}.flags)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${wrappers}.flags)
  endif()
endfunction()
