#ifndef SLICEWISE_MLOCKALL_H
#define SLICEWISE_MLOCKALL_H

/* mlockall, counted, by whatever name it was called. */
int mlockall_counted(int flags);

#endif
