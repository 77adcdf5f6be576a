/* Says what is to be preloaded into it. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const char *preload = getenv("LD_PRELOAD");
    printf("preloaded: %s\n", preload != NULL ? preload : "");
    return 7;
}
