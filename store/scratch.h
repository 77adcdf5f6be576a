/* Memory for work that is done and forgotten while the lock is held, or before there is any engine. Those who do it take turns, so that a process
 * pays for few pages. */
#ifndef SLICEWISE_SCRATCH_H
#define SLICEWISE_SCRATCH_H

#include "command.h"
#include "files.h"

#include <limits.h>

extern union scratch {
    struct file_rows files;         /* while they are packed */
    unsigned char lane[LANE_BYTES]; /* while the cost of a call is measured */
    uint64_t changed[SITE_ROWS_MAX * SITE_COLUMNS]; /* rows of a ledger, while they are packed */
    char path[PATH_MAX];            /* that the kernel told, until it is copied */
    struct command_read command;    /* likewise */
} scratch;

#endif
