/* The kernel's asynchronous requests as libaio submits and reaps them: what io_submit and io_getevents do, whether libaio's functions or
 * system calls made by number (syscall.c) are called. */
#ifndef SLICEWISE_LIBAIO_H
#define SLICEWISE_LIBAIO_H

#include "request.h"

#include <signal.h>

#include <linux/aio_abi.h>

/* Before the submission of `count` control blocks: returns how many of them could be read. After it: the first `submitted` were taken. */
long libaio_begin(const struct call *call, long count, struct iocb *const *blocks);
void libaio_submitted(const struct call *call, long begun, struct iocb *const *blocks, long submitted);

/* `reaped` events (below 0: an error) were fetched. */
void libaio_reaped(const struct call *call, const struct io_event *events, long reaped);

#endif
