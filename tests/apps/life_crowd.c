/* argv[1] threads live at once, and each writes 10 times 100 bytes; then one of them, and not the first, ends the process by exit while the
 * others still write. */
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>

static const char block[100];
static int file;
static pthread_barrier_t all_there;
static atomic_int done, is_over;

static void *live(void *number)
{
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 10; i++)
        REQUIRE(write(file, block, sizeof block) == sizeof block);
    atomic_fetch_add(&done, 1);
    while (!is_over)
        usleep(1000);
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
    REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, &small, live, i == 1 ? &all_there : NULL) == 0);
    }
    while (done < count)
        usleep(1000);
    is_over = 1;
    pthread_exit(NULL);
}
