/* SPDX-License-Identifier: Apache-2.0 */
/* eval_schema_files.h - files of JSON schemas with instances: lines {"name", "schema", "tests"},
 * also compressed by xz, and folders of arrays of {"description", "schema", "tests"} as in the
 * official JSON-Schema-Test-Suite. tests: [{"valid": bool, "data": any}]. */
#ifndef QUIRE_BENCH_EVAL_SCHEMA_FILES_H
#define QUIRE_BENCH_EVAL_SCHEMA_FILES_H
#include "json_slice.h"

/* Receives one schema. name: the member `name`, or FILE: DESCRIPTION. Valid during the call. */
typedef void (*schema_visitor)(void *context, const char *name, const struct json_slice *schema,
                               const struct json_slice *tests);

/* Visits all schemas of a file, or of the .json files of a folder and below it by name. Returns 0;
 * 65 malformed, 66 not readable, 71 no memory: with a message that names the file and line or
 * element; the schemas before it were visited. */
int schema_files_visit(const char *path, schema_visitor visit, void *context);

#endif
