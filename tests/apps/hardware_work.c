/* Computes, touches pages and waits, in argv[1] threads beside the first one, with few calls that are seen; then tells what the kernel counted
 * of the process: its processor time, page faults and context switches since the start of main. With `stay` the threads are there still when
 * the process exits; with `brief` it hardly computes. */
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGES = 2000, PAGE = 4096, WAITS = 200 };

static atomic_int at_work;
static bool stays;
static unsigned long rounds = 2000000000;

static void work(void)
{
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < rounds; i++)
        sum += i;
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE) == 0);
    for (int i = 0; i < PAGES; i++)
        memory[i * PAGE] = 1;
    for (int i = 0; i < WAITS; i++)
        usleep(1000);
}

static void *work_in_thread(void *unused)
{
    work();
    at_work--;
    while (stays)
        pause();
    return unused;
}

static struct rusage used(void)
{
    struct rusage usage;
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage;
}

static long long microseconds(struct rusage usage)
{
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ll + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    REQUIRE(argc >= 2 && atoi(argv[1]) <= 16);
    stays = argc == 3 && strcmp(argv[2], "stay") == 0;
    if (argc == 3 && strcmp(argv[2], "brief") == 0)
        rounds /= 100;
    at_work = atoi(argv[1]);
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    struct rusage before = used();
    for (int i = 0; i < atoi(argv[1]); i++)
        REQUIRE(pthread_create(&threads[i], NULL, work_in_thread, NULL) == 0);
    work();
    while (at_work > 0)
        usleep(1000);
    for (int i = 0; i < atoi(argv[1]) && !stays; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(write(fd, "x", 1) == 1);
    struct rusage after = used();
    tell("processor_us", (long)(microseconds(after) - microseconds(before)));
    tell("faults", after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt);
    tell("switches", after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
    scenario_begin();
    scenario_end();
    return 0;
}
