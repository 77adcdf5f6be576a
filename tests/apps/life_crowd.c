/* argv[1] threads live at once, and each writes 10 times 100 bytes; then one of them, and not the first, ends the process by exit while the
 * others wait. */
#include "scenario.h"

#include <pthread.h>

static const char block[100];
static int file;
static pthread_barrier_t all_there, all_wrote;

static void *live(void *number)
{
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 10; i++)
        REQUIRE(write(file, block, sizeof block) == sizeof block);
    pthread_barrier_wait(&all_wrote);
    if (number != NULL)
        exit(5);
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    REQUIRE(argc == 2);
    int count = atoi(argv[1]);
    file = open("crowd", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(file >= 0 && pthread_barrier_init(&all_there, NULL, (unsigned)count) == 0);
    REQUIRE(pthread_barrier_init(&all_wrote, NULL, (unsigned)count + 1) == 0);
    REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, &small, live, i == 1 ? &all_there : NULL) == 0);
    }
    pthread_barrier_wait(&all_wrote);
    pthread_exit(NULL);
}
