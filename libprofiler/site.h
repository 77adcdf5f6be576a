/* Call sites: where in the program the I/O time goes. In each stretch of SLICEWISE_SITE_MS that a thread spends in calls one instant is
 * chosen at random, and the call that it falls into is sampled: its stack, and what the sample stands for. So a site's samples are in
 * proportion to its I/O time, whatever pattern its calls have, and cost a small part of that time. */
#ifndef SLICEWISE_SITE_H
#define SLICEWISE_SITE_H

#include "engine.h"

/* Called where the thread's `site_left_ns` has run out. `bytes`: what the call moved. The thread has a lane, and holds no lock. */
void site_due(struct thread *thread, const struct call *call, uint64_t whole_ns, uint64_t bytes);

/* A forked child begins anew. */
void site_forget(void);

#endif
