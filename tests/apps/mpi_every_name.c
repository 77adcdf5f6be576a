/* Calls every function of MPI whose name is an argument once, in that order, with arguments that all lead to zeros; each must land in the function
 * of that very name of the library beside it (made by the test), which counts its calls. A function with large counts (..._c) that the library
 * does not have must land in the one with ints. As a shared library it does so for a program that opens it out of the global scope. */
#include "scenario.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/mman.h>

enum { NAME_BYTES = 100 };

typedef int any_function(void *, ...);

/* Where a count is expected, an address is taken for one: this is a small one then. */
#define ZEROS ((char *)0x200000000000)
enum { COUNT = 16, ZEROS_BYTES = 4096 };

/* C's names alone have both cases. */
static bool is_fortran(const char *name, const char *routine)
{
    bool is_lower = islower((unsigned char)name[0]) != 0, is_upper = isupper((unsigned char)name[strlen("MPI_F")]) != 0;
    return strncasecmp(name, routine, strlen(routine)) == 0 && (is_lower || is_upper);
}

static void call(const char *name)
{
    char counter[NAME_BYTES], text[] = "none";
    void *z = ZEROS + COUNT;
    any_function *function = (any_function *)dlsym(RTLD_DEFAULT, name);
    snprintf(counter, sizeof counter, "calls_of_%s", name);
    const int *calls = dlsym(RTLD_DEFAULT, counter);
    bool is_with_ints = calls == NULL;
    if (is_with_ints) {
        counter[strlen(counter) - strlen("_c")] = '\0';
        calls = dlsym(RTLD_DEFAULT, counter);
    }
    REQUIRE(function != NULL && calls != NULL);
    int before = *calls;
    bool is_of_files = strncasecmp(name, "mpi_file_", strlen("mpi_file_")) == 0;
    if (is_with_ints && is_of_files) /* the count is the third or the fourth */
        function(z, z, NULL, NULL, z, z, z);
    else if (is_with_ints)
        function(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    else if (is_fortran(name, "mpi_file_open")) /* a string's length comes last */
        function(z, text, z, z, z, z, strlen(text));
    else if (is_fortran(name, "mpi_file_delete"))
        function(text, z, z, strlen(text));
    else if (is_fortran(name, "mpi_file_set_view"))
        function(z, z, z, z, text, z, z, strlen(text));
    else
        function(z, z, z, z, z, z, z, z, z, z, z, z, z, z);
    if (*calls != before + 1)
        fprintf(stderr, "%s is not called by its name\n", name);
    REQUIRE(*calls == before + 1);
}

int main(int argc, char **argv)
{
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    REQUIRE(mmap(ZEROS, ZEROS_BYTES, PROT_READ | PROT_WRITE, how, -1, 0) == ZEROS);
    for (int i = 1; i < argc; i++)
        call(argv[i]);
    return 0;
}
