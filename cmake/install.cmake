# SPDX-License-Identifier: Apache-2.0
# Library, headers, pkg-config and CMake package: find_package(quire) provides quire::quire. The installed tree may be
# moved: pkg-config and CMake files find the library relative to themselves.
include(CMakePackageConfigHelpers)
set(QUIRE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/quire)

# Debug information stays in the build folder.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()

install(TARGETS quire_static quire_shared EXPORT quireTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET quire-chat)
  install(TARGETS quire-chat RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/man/quire-chat.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES chat/quire.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME quire-chat)
endif()
if(TARGET quire-server)
  install(TARGETS quire-server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/man/quire-server.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES chat/quire.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME quire-server)
endif()
if(TARGET quire-eval)
  install(TARGETS quire-eval quire-quantize RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/man/quire-quantize.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES chat/quire.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME quire-quantize)
endif()

# A folder of the installation, relative to ${prefix} unless it is absolute.
function(quire_pc_path out dir)
  if(IS_ABSOLUTE "${dir}")
    set(${out} "${dir}" PARENT_SCOPE)
  else()
    set(${out} "\${prefix}/${dir}" PARENT_SCOPE)
  endif()
endfunction()
quire_pc_path(QUIRE_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
quire_pc_path(QUIRE_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(QUIRE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(QUIRE_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(cmake/quire.pc.in quire.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(cmake/sbom.cmake)
install(FILES ${CMAKE_BINARY_DIR}/quire.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT quireTargets NAMESPACE quire:: DESTINATION ${QUIRE_CMAKE_DIR})
configure_package_config_file(cmake/quireConfig.cmake.in quireConfig.cmake INSTALL_DESTINATION ${QUIRE_CMAKE_DIR})
write_basic_package_version_file(quireConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quireConfig.cmake ${CMAKE_BINARY_DIR}/quireConfigVersion.cmake
  DESTINATION ${QUIRE_CMAKE_DIR})
