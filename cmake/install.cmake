# SPDX-License-Identifier: Apache-2.0
# Library, headers, pkg-config and CMake package: find_package(quire) provides quire::quire.
include(CMakePackageConfigHelpers)
install(TARGETS quire_static quire_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET quire-chat)
  install(TARGETS quire-chat RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/man/quire-chat.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES chat/quire-chat.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME quire-chat OPTIONAL)
endif()
if(TARGET quire-eval)
  install(TARGETS quire-eval RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
configure_file(cmake/quire.pc.in quire.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/quireConfig.cmake.in quireConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quire
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(quireConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quireConfig.cmake ${CMAKE_BINARY_DIR}/quireConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quire)
