/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the tables of --dry-run and /stats. */
#ifndef QUIRE_CHAT_REPORT_H
#define QUIRE_CHAT_REPORT_H
#include "session.h"

void report_sizes(const struct session *s, struct text *out); /* --dry-run */
void report_stats(const struct session *s, struct text *out); /* /stats */

#endif
