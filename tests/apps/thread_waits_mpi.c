/* A stand-in for an MPI (-DSTAND_IN, a library) whose barrier waits at a semaphore, and a program that calls it and waits so by itself. Each prints how
 * long, in ns. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

__attribute__((unused)) static void wait_for(long ms)
{
    static sem_t semaphore;
    struct timespec until, began, ended;
    clock_gettime(CLOCK_REALTIME, &until);
    clock_gettime(CLOCK_MONOTONIC, &began);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&semaphore, &until);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%ld\n", (ended.tv_sec - began.tv_sec) * 1000000000 + ended.tv_nsec - began.tv_nsec);
}

int MPI_Barrier(void *communicator);
#ifdef STAND_IN
int MPI_Barrier(void *communicator)
{
    wait_for(300);
    return communicator != NULL;
}
#else
int main(void)
{
    wait_for(100);
    return MPI_Barrier(NULL);
}
#endif
