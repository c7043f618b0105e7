# SPDX-License-Identifier: Apache-2.0
# Writes quire.spdx.json, a software bill of materials (SPDX 2.3): quire and the libraries that this build links, with
# the versions found. It is installed to share/doc/quire.
set(QUIRE_SBOM_PACKAGES "")
set(QUIRE_SBOM_RELATIONS "")

# Adds the library lib<name>.so, its version and its license; with STATIC_LINK one that is compiled into libquire.
function(quire_sbom_add name version license)
  if(NOT version)
    set(version NOASSERTION)
  endif()
  set(relationship DYNAMIC_LINK)
  if(ARGC GREATER 3)
    set(relationship ${ARGV3})
  endif()
  string(APPEND QUIRE_SBOM_PACKAGES ",
    { \"SPDXID\": \"SPDXRef-${name}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseDeclared\": \"${license}\",
      \"licenseConcluded\": \"NOASSERTION\", \"copyrightText\": \"NOASSERTION\" }")
  string(APPEND QUIRE_SBOM_RELATIONS ",
    { \"spdxElementId\": \"SPDXRef-quire\", \"relationshipType\": \"${relationship}\", \"relatedSpdxElement\": \"SPDXRef-${name}\" }")
  set(QUIRE_SBOM_PACKAGES "${QUIRE_SBOM_PACKAGES}" PARENT_SCOPE)
  set(QUIRE_SBOM_RELATIONS "${QUIRE_SBOM_RELATIONS}" PARENT_SCOPE)
endfunction()

# The version that a header defines as PREFIX_MAJOR, PREFIX_MINOR and the given third number.
function(quire_header_version out header prefix third)
  file(STRINGS ${header} lines REGEX "#define[ \t]+${prefix}_(MAJOR|MINOR|${third})[ \t]")
  list(TRANSFORM lines REPLACE ".*[ \t]([0-9]+).*" "\\1")
  list(JOIN lines "." version)
  set(${out} ${version} PARENT_SCOPE)
endfunction()

if(QUIRE_WITH_OPENMP)
  list(GET OpenMP_C_LIB_NAMES 0 name)
  set(license "GPL-3.0-or-later WITH GCC-exception-3.1")
  if(NOT name STREQUAL "gomp")
    set(license "Apache-2.0 WITH LLVM-exception")
  endif()
  quire_sbom_add(${name} ${CMAKE_C_COMPILER_VERSION} ${license})
endif()
if(QUIRE_WITH_SLEEF)
  quire_header_version(version ${QUIRE_sleef_INCLUDE}/sleef.h SLEEF_VERSION PATCHLEVEL)
  quire_sbom_add(sleef "${version}" BSL-1.0)
endif()
if(QUIRE_WITH_ONEDNN)
  quire_header_version(version ${QUIRE_dnnl_INCLUDE}/oneapi/dnnl/dnnl_version.h DNNL_VERSION PATCH)
  quire_sbom_add(dnnl "${version}" Apache-2.0)
endif()
if(QUIRE_WITH_TEXT)
  quire_header_version(version ${QUIRE_pcre2_INCLUDE}/pcre2.h PCRE2 MINOR)
  quire_sbom_add(pcre2-8 "${version}" BSD-3-Clause)
  quire_header_version(version ${QUIRE_utf8proc_INCLUDE}/utf8proc.h UTF8PROC_VERSION PATCH)
  quire_sbom_add(utf8proc "${version}" MIT)
  quire_header_version(version ${QUIRE_xxhash_INCLUDE}/xxhash.h XXH_VERSION RELEASE)
  quire_sbom_add(xxhash "${version}" BSD-2-Clause STATIC_LINK)
endif()
if(QUIRE_WITH_SERVER) # of quire-server alone
  file(STRINGS ${QUIRE_microhttpd_INCLUDE}/microhttpd.h version REGEX "^#define MHD_VERSION 0x")
  string(REGEX REPLACE ".*0x0([0-9])0([0-9])([0-9][0-9]).*" "\\1.\\2.\\3" version "${version}")
  quire_sbom_add(microhttpd "${version}" LGPL-2.1-or-later)
  file(STRINGS ${QUIRE_jansson_INCLUDE}/jansson.h version REGEX "^#define JANSSON_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${version}")
  quire_sbom_add(jansson "${version}" MIT)
  quire_header_version(version ${QUIRE_gnutls_INCLUDE}/gnutls/gnutls.h GNUTLS_VERSION PATCH)
  quire_sbom_add(gnutls "${version}" LGPL-2.1-or-later)
endif()
string(TIMESTAMP QUIRE_SBOM_CREATED UTC) # of SOURCE_DATE_EPOCH, if set
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/quire.spdx.json @ONLY CONTENT "{
  \"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"quire-@PROJECT_VERSION@\", \"documentNamespace\": \"urn:quire:spdx:@PROJECT_VERSION@\",
  \"creationInfo\": { \"created\": \"@QUIRE_SBOM_CREATED@\", \"creators\": [ \"Organization: quire\" ] },
  \"packages\": [
    { \"SPDXID\": \"SPDXRef-quire\", \"name\": \"quire\", \"versionInfo\": \"@PROJECT_VERSION@\",
      \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseDeclared\": \"Apache-2.0\",
      \"licenseConcluded\": \"Apache-2.0\", \"copyrightText\": \"NOASSERTION\" }@QUIRE_SBOM_PACKAGES@
  ],
  \"relationships\": [
    { \"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-quire\" }@QUIRE_SBOM_RELATIONS@
  ]
}
")
