/* The kernel's asynchronous requests as libaio submits and reaps them: what io_submit and io_getevents do, whether libaio's functions or
 * system calls made by number (syscall.c) are called. */
#ifndef SLICEWISE_LIBAIO_H
#define SLICEWISE_LIBAIO_H

#include "request.h"

#include <signal.h>

#include <linux/aio_abi.h>

/* Before the submission, and after it: of `count` control blocks the first `submitted` were taken. */
void libaio_begin(const struct call *call, long count, struct iocb *const *blocks);
void libaio_submitted(const struct call *call, long count, struct iocb *const *blocks, long submitted);

/* `reaped` events (below 0: an error) were fetched. */
void libaio_reaped(const struct call *call, const struct io_event *events, long reaped);

#endif
