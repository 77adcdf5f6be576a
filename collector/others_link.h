/* Between a collector, which has the rights of the job's user, and the process that looks at everybody else on the node (others.h). That one
 * stays root's, and keeps of root's powers two: to read what the kernel counts of any process, and to look into users' directories of
 * segments. It opens nothing for writing, begins no program, and tells sums by user alone. It ends when its collector does. */
#ifndef SLICEWISE_OTHERS_LINK_H
#define SLICEWISE_OTHERS_LINK_H

#include "others.h"
#include "sampled.h"

struct others_link {
    int fd;             /* 0: there is nobody who looks */
    bool is_asked;      /* an answer is to come */
    bool has_said;      /* that processes were refused */
    unsigned rows_used; /* that came, and are not kept yet */
    uint64_t refused, left_out;
    struct others_row rows[OTHER_ROWS_MAX];
};

/* Begins the process. Root's call. Returns its end of the line, or -errno. */
int others_link_begin(uint32_t job_user, bool is_named);

/* Has it look; the processes of the job that are sampled by themselves are left out. Waits for nothing. */
void others_link_ask(struct others_link *link, const struct sampled *sampled);

/* Takes the rows of that look. */
void others_link_take(struct others_link *link);

void others_link_add_rows(const struct others_link *link, struct sample *sample);
void others_link_are_kept(struct others_link *link);

#endif
