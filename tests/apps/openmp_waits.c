/* Threads of OpenMP that wait in barriers, for tasks and for regions, by times that are known: openmp_waits. Prints what the first thread waited in
 * barriers by its own clock, and what one worker was idle, in ns. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const useconds_t PART_US = 100000;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(void)
{
    uint64_t waited_ns = 0, idle_ns = 0, began, left = 0;
    omp_set_dynamic(0);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 1) {
                if (left != 0)
                    idle_ns += now() - left;
                usleep(PART_US);
            }
            uint64_t came = now();
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                waited_ns += now() - came;
            if (omp_get_thread_num() == 1) {
                usleep(PART_US);
                left = now();
            } else
                came = now(); /* and it waits for the region's end */
            if (omp_get_thread_num() == 0)
                began = came;
        }
        waited_ns += now() - began;
        usleep(3 * PART_US); /* longer than workers look for work before they sleep */
    }
    /* Whoever waits in the barrier at a `single` runs the tasks meanwhile: that is no waiting. */
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1 && left != 0) {
            idle_ns += now() - left;
            left = 0;
        }
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task
            usleep(PART_US);
        }
    }
    printf("%ju %ju\n", (uintmax_t)waited_ns, (uintmax_t)idle_ns);
    return 0;
}
