/* SPDX-License-Identifier: Apache-2.0 */
/* process_info.h - memory, descriptors and CPU time of this process. */
#ifndef QUIRE_SERVE_PROCESS_INFO_H
#define QUIRE_SERVE_PROCESS_INFO_H

/* Descriptors of /proc, opened at the start so that they can be read in a sandbox; -1 = none. */
struct process_info {
    int statm, fds;
    double start; /* seconds in Unix time */
};

void process_info_open(struct process_info *p);
void process_info_close(struct process_info *p);

/* Each is negative if it is not known. */
double process_resident_bytes(const struct process_info *p);
double process_open_fds(const struct process_info *p);
double process_max_fds(void);
double process_cpu_seconds(void);

#endif
