/* Where the threads of processes are now, by libunwind (opened only here, if it is installed). Nothing waits for us: a thread that waits in the
 * kernel, as one that hangs in I/O does, is read as it is and never stopped; a thread that runs is stopped for the time of one walk. */
#ifndef SLICEWISE_STACKS_H
#define SLICEWISE_STACKS_H

/* `stacks [--job JOB] [--seconds S] PID...`: prints lines of JSON, one for each thread, module and process. Returns the exit status. */
int stacks(int argc, char **argv);

#endif
