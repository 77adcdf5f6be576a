/* Calls with names on a page that another thread takes away and gives back all the time. Each of them fails, whether or not its name is there. */
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { ROUNDS = 2000, PAGE = 4096 };

static _Atomic bool is_over;

static void *take_away_and_give_back(void *page)
{
    while (!is_over) {
        mprotect(page, PAGE, PROT_NONE);
        mprotect(page, PAGE, PROT_READ);
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    struct stat status;
    long failed = 0;
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    const char *names[] = { strcpy(page, "/there/is/nothing"), strcpy(page + PAGE / 2, "nothing") };
    REQUIRE(pthread_create(&other, NULL, take_away_and_give_back, page) == 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int j = 0; j < 2; j++) {
            failed += access(names[j], F_OK) != 0;
            failed += open(names[j], O_RDONLY) < 0;
            failed += stat(names[j], &status) != 0;
            failed += rename(names[j], names[1 - j]) != 0;
            failed += fopen(names[j], "r") == NULL;
            failed += syscall(SYS_openat, AT_FDCWD, names[j], O_RDONLY) < 0;
        }
    is_over = true;
    pthread_join(other, NULL);
    REQUIRE(failed == ROUNDS * 2 * 6);
    tell("failed", failed);
    scenario_end();
    return 0;
}
