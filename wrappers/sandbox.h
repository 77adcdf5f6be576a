/* What sandbox.c shares with syscall.c: to be called before the program forbids itself something. */
#ifndef SLICEWISE_SANDBOX_H
#define SLICEWISE_SANDBOX_H

void sandbox_prepare_prctl(long option, long first, const void *second);
void sandbox_prepare_seccomp(long operation, const void *arguments);

#endif
