/* argv[1] threads write 10 times 100 bytes each; then one is cancelled while it waits in a read, one ends by pthread_exit in the middle, and
 * one outlives main and ends the process. */
#include "scenario.h"

#include <pthread.h>

static const char block[100];
static int file, ends[2];

static void *write_ten(void *unused)
{
    for (int i = 0; i < 10; i++)
        REQUIRE(write(file, block, sizeof block) == sizeof block);
    return unused;
}

static void *wait_forever(void *unused)
{
    char byte;
    REQUIRE(write(file, block, 1) == 1);
    REQUIRE(read(ends[0], &byte, 1) == 1); /* cancelled in here */
    return unused;
}

static void *leave_early(void *unused)
{
    REQUIRE(write(file, block, 2) == 2);
    pthread_exit(unused);
}

static void *outlive_main(void *main_thread)
{
    REQUIRE(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
    REQUIRE(write(file, block, 3) == 3);
    return NULL;
}

static pthread_t start(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, function, argument) == 0);
    return thread;
}

int main(int argc, char **argv)
{
    static pthread_t main_thread, threads[2000];
    REQUIRE(argc == 2 && pipe(ends) == 0);
    int count = atoi(argv[1]);
    file = open("threads", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < count; i++)
        threads[i] = start(write_ten, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_t waiting = start(wait_forever, NULL);
    usleep(20000);
    void *result;
    REQUIRE(pthread_cancel(waiting) == 0 && pthread_join(waiting, &result) == 0 && result == PTHREAD_CANCELED);
    pthread_join(start(leave_early, NULL), NULL);
    main_thread = pthread_self();
    start(outlive_main, &main_thread);
    pthread_exit(NULL);
}
