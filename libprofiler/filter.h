/* Whether this library can go on under a filter of system calls (seccomp) that the program is about to install. */
#ifndef SLICEWISE_FILTER_H
#define SLICEWISE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_filter;
struct sock_fprog;

/* Whether the filter lets every system call pass that we make. What a filter asks about arguments that are not the same in each of our calls
 * may be answered either way. */
bool filter_lets_us_go_on(const struct sock_filter *program, unsigned length);

/* The same of a program as prctl and seccomp take it. False if it cannot be read; `is_readable` says which: the kernel will refuse that too. */
bool filter_at_lets_us_go_on(const struct sock_fprog *program, bool *is_readable);

#endif
