# SPDX-License-Identifier: Apache-2.0
# Builds one web page: joins its parts, compresses it, and writes both as C arrays.
#
# cmake -DHTML=FILE -DICONS=FILE -DSTYLES=FILES -DSCRIPTS=FILES -DNAME=NAME -DOUT=FILE.c -DGZIP=PROGRAM -P web_page.cmake
#   STYLES, SCRIPTS  joined in this order, separated by |
# The HTML has the marks @icons@, @style@ and @script@. The policy in the array names the SHA-256 of the
# style and of the script, so that the browser runs nothing else.
cmake_minimum_required(VERSION 3.20)

function(join_files out files)
  string(REPLACE "|" ";" files "${files}")
  set(joined "")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(APPEND joined "${text}")
  endforeach()
  set(${out} "${joined}" PARENT_SCOPE)
endfunction()

# Base64 of the SHA-256 of a text: CMake has the digest in hexadecimal only.
function(sha256_base64 out text)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hex "${text}")
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 digits) # the last group is two bytes and a zero
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${digits} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 letter)
      string(APPEND base64 ${letter})
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" base64 ${base64})
  set(${out} "${base64}" PARENT_SCOPE)
endfunction()

function(write_array out_text file name)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  set(${out_text} "static const unsigned char ${name}[] = {\n${bytes}\n};\n" PARENT_SCOPE)
endfunction()

join_files(style "${STYLES}")
join_files(script "${SCRIPTS}")
file(READ "${ICONS}" icons)
file(READ "${HTML}" page)
string(REPLACE "@icons@" "${icons}" page "${page}")
string(REPLACE "@style@" "${style}" page "${page}")
string(REPLACE "@script@" "${script}" page "${page}")
sha256_base64(style_hash "${style}")
sha256_base64(script_hash "${script}")
string(SHA256 etag "${page}")
string(SUBSTRING ${etag} 0 16 etag)

string(REGEX REPLACE "\\.c$" ".html" html "${OUT}")
file(WRITE "${html}" "${page}")
execute_process(COMMAND "${GZIP}" -9nc "${html}" OUTPUT_FILE "${html}.gz" COMMAND_ERROR_IS_FATAL ANY) # -n: reproducible
write_array(plain "${html}" plain)
write_array(gzip "${html}.gz" gzip)
file(WRITE "${OUT}" "/* Written by cmake/web_page.cmake. */
#include \"page.h\"
${plain}${gzip}
const struct page page_${NAME} = {
    .plain = plain,
    .plain_size = sizeof plain,
    .gzip = gzip,
    .gzip_size = sizeof gzip,
    .etag = \"${etag}\",
    .policy = \"default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; \"
              \"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \"
              \"require-trusted-types-for 'script'; trusted-types 'none'\",
};
")
