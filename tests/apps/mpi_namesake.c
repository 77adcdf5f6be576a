/* No MPI here, but a library with functions whose names are also those of Fortran routines. Built twice: -DLIBRARY for the library. */
#include <stdio.h>

int mpi_init(const char *name, long *slot, int number);
int mpi_finalize(void);

#ifdef LIBRARY
int mpi_init(const char *name, long *slot, int number)
{
    *slot = number;
    printf("%s", name);
    return number + 1;
}

int mpi_finalize(void)
{
    return 7;
}
#else
int main(void)
{
    long slot = 0;
    int result = mpi_init("hello ", &slot, 41);
    printf("%d %ld %d\n", result, slot, mpi_finalize());
    return 0;
}
#endif
