# SPDX-License-Identifier: Apache-2.0
# The web pages of quire-server, compiled in: serve/web/*.html with their parts.
find_program(QUIRE_GZIP gzip)
if(NOT QUIRE_GZIP)
  message(FATAL_ERROR "gzip not found: it compresses the web pages of quire-server; install it, or set -DQUIRE_WITH_SERVER=OFF")
endif()

# Adds the page NAME to a target. STYLES and SCRIPTS are names without extension, in the order of the page.
function(quire_web_page target name)
  cmake_parse_arguments(PAGE "" "" "STYLES;SCRIPTS" ${ARGN})
  set(web ${PROJECT_SOURCE_DIR}/serve/web)
  set(out ${CMAKE_BINARY_DIR}/web/page_${name}.c)
  list(TRANSFORM PAGE_STYLES REPLACE "(.+)" "${web}/style/\\1.css")
  list(TRANSFORM PAGE_SCRIPTS REPLACE "(.+)" "${web}/script/\\1.js")
  list(JOIN PAGE_STYLES "|" styles)
  list(JOIN PAGE_SCRIPTS "|" scripts)
  add_custom_command(OUTPUT ${out} BYPRODUCTS ${CMAKE_BINARY_DIR}/web/page_${name}.html ${CMAKE_BINARY_DIR}/web/page_${name}.html.gz
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DHTML=${web}/${name}.html -DICONS=${web}/icons.svg "-DSTYLES=${styles}"
      "-DSCRIPTS=${scripts}" -DGZIP=${QUIRE_GZIP} -DOUT=${out} -P ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    DEPENDS ${web}/${name}.html ${web}/icons.svg ${PAGE_STYLES} ${PAGE_SCRIPTS} ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    COMMENT "Web page ${name}" VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

set(strings strings_en strings_de strings_fr strings_es strings_zh strings_ja)
quire_web_page(quire-server chat STYLES base chat messages dialogs
  SCRIPTS language ${strings} dom preferences markdown_inline markdown_blocks highlight markdown store conversation
    transfer api settings message_view answer sidebar shortcuts chat)
quire_web_page(quire-server status STYLES base status
  SCRIPTS language ${strings} dom preferences api prometheus chart status)
