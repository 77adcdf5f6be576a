/* Stand-ins for the libraries of schema/libraries.def, and who calls them.
 *   -DSTAND_IN -DSALT=N a library with every symbol: each returns a number made of its name, its arguments and the salt
 *   -DFOREIGN            a library that has functions by two of the names, and is none of those libraries
 *   -DPLUG_IN            calls a function of the library that it is linked with
 *   -DPROGRAM            linked with a library: calls every symbol; or with a file, one that waits and writes, and with one more word, dies
 *   -DBETWEEN            linked with two libraries: calls a function of the second, and by way of PLUG_IN of the first
 *   -DOPENER             opens plug-ins, each with a library of its own, and calls all of them; or with nothing, what FOREIGN has */
#include "scenario.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "../../wrappers/words.h"

#define PARAMETERS_3_STEP PARAMETERS_2, float seconds
#define PARAMETERS_4_STEP PARAMETERS_2, float seconds, word a3
#define ARGUMENTS_3_STEP ARGUMENTS_2, (word)(4 * seconds)
#define ARGUMENTS_4_STEP ARGUMENTS_2, (word)(4 * seconds), a3

#define LIBRARY_SYMBOL(mark, name, symbol, arguments) word symbol(PARAMETERS_##arguments);
#if !defined(FOREIGN) && !defined(OPENER)
#include "../../schema/libraries.def"
#endif

__attribute__((unused)) static word mixed(const char *name, const word *arguments, size_t count, word salt)
{
    word sum = salt;
    for (; *name != '\0'; name++)
        sum = sum * 31 + (unsigned char)*name;
    for (size_t i = 0; i < count; i++)
        sum = sum * 1000003 + arguments[i];
    return sum;
}
#define MIXED(name, salt, ...) mixed(name, (word[]){ __VA_ARGS__ }, sizeof(word[]){ __VA_ARGS__ } / sizeof(word), salt)
#define REALLY 7777 /* as an argument: do what the function is for */

#if defined(STAND_IN)

/* Waits, writes 100 times, and calls the library itself in between. */
static word flush(word fd)
{
    usleep(50000);
    for (word i = 0; i < 100; i++)
        REQUIRE(write((int)fd, "0123456789", 10) == 10 && H5Dclose(i) == MIXED("H5Dclose", SALT, i));
    return fd;
}

static word called(const char *name, const word *arguments, size_t count)
{
    if (strcmp(name, "H5Fflush") == 0 && arguments[1] == REALLY)
        return flush(arguments[0]);
    if (strcmp(name, "nc__enddef") == 0 && arguments[1] == REALLY) /* one library on another */
        return H5Fflush(arguments[0], REALLY);
    return mixed(name, arguments, count, SALT);
}

#define LIBRARY_SYMBOL(mark, name, symbol, arguments) \
    word symbol(PARAMETERS_##arguments) \
    { \
        word given[] = { ARGUMENTS_##arguments }; \
        return called(#symbol, given, sizeof given / sizeof *given); \
    }
#include "../../schema/libraries.def"

#define IS_hdf5(symbol) word symbol(void) { return 0; }
#define IS_pnetcdf(symbol) IS_hdf5(symbol)
#define IS_netcdf(symbol) IS_hdf5(symbol)
#define IS_adios2(symbol)
#define IS_adios2_cxx(symbol)
#define LIBRARY_MARK(name, symbol) IS_##name(symbol)
#include "../../schema/libraries.def"

#elif defined(FOREIGN)

double nc_open(double a, double b, double c);
double nc_open(double a, double b, double c)
{
    return a * b + c;
}

struct large { long member[9]; };
struct large nc_close(int a, double b);
struct large nc_close(int a, double b)
{
    return (struct large){ { a, (long)b, 2, 3, 4, 5, 6, 7, 8 } };
}

#elif defined(PLUG_IN)

word plug_in(void);
word plug_in(void)
{
    return H5Dread(1, 2, 3, 4, 5, 6) + 1; /* no jump: its caller is to be known */
}

#elif defined(PROGRAM)

#define WORDS_1 101
#define WORDS_2 WORDS_1, (word)-1
#define WORDS_3 WORDS_2, 103
#define WORDS_4 WORDS_3, (word)1 << 63
#define WORDS_5 WORDS_4, 105
#define WORDS_6 WORDS_5, 106
#define WORDS_7 WORDS_6, 107
#define WORDS_8 WORDS_7, 108
#define WORDS_9 WORDS_8, 109
#define WORDS_3_STEP WORDS_2, 2.5f
#define WORDS_4_STEP WORDS_2, 2.5f, 44
#define MADE_1 WORDS_1
#define MADE_2 WORDS_2
#define MADE_3 WORDS_3
#define MADE_4 WORDS_4
#define MADE_5 WORDS_5
#define MADE_6 WORDS_6
#define MADE_7 WORDS_7
#define MADE_8 WORDS_8
#define MADE_9 WORDS_9
#define MADE_3_STEP WORDS_2, 10
#define MADE_4_STEP WORDS_2, 10, 44

static void call_every_symbol(void)
{
    unsigned calls = 0;
    errno = ENOTTY;
#define LIBRARY_SYMBOL(mark, name, symbol, arguments) \
    REQUIRE(symbol(WORDS_##arguments) == MIXED(#symbol, 5, MADE_##arguments)); \
    calls++;
#include "../../schema/libraries.def"
    REQUIRE(errno == ENOTTY);
    tell("calls", calls);
}

int main(int count, char **arguments)
{
    if (count == 1) {
        call_every_symbol();
        return 0;
    }
    int fd = open(arguments[1], O_WRONLY | O_CREAT, 0600);
    REQUIRE(nc__enddef((word)fd, REALLY, 3, 4, 5) == (word)fd && H5Fflush((word)fd, REALLY) == (word)fd);
    if (count > 2)
        raise(SIGKILL);
    return 0;
}

#elif defined(BETWEEN)

word plug_in(void);
int main(void)
{
    for (int i = 0; i < 2; i++) {
        REQUIRE(H5Dread(1, 2, 3, 4, 5, 6) == MIXED("H5Dread", 2, 1, 2, 3, 4, 5, 6));
        REQUIRE(plug_in() == MIXED("H5Dread", 1, 1, 2, 3, 4, 5, 6) + 1);
    }
    return 0;
}

#else /* OPENER */

double nc_open(double a, double b, double c) __attribute__((weak));
struct large { long member[9]; };
struct large nc_close(int a, double b) __attribute__((weak));

static void call_foreign_ones(void)
{
    struct large closed = nc_close(1, 2.5);
    REQUIRE(nc_open(2.5, 4, 0.25) == 10.25 && nc_open(3, 4, 5) == 17);
    REQUIRE(closed.member[0] == 1 && closed.member[1] == 2 && closed.member[8] == 8);
}

/* From here on a copy of memory that may not be there is answered so. */
static void forbid_copies(unsigned answer)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ sizeof filter / sizeof *filter, filter }) == 0);
}

int main(int count, char **arguments)
{
    word (*plug_ins[8])(void);
    if (getenv("FORBID") != NULL)
        forbid_copies(strcmp(getenv("FORBID"), "error") == 0 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
    if (getenv("FORBID") != NULL && strcmp(getenv("FORBID"), "error") == 0) {
        unsetenv("FORBID");
        execv("/proc/self/exe", arguments);
    }
    if (count == 1)
        call_foreign_ones();
    for (int round = 0; round < 3; round++)
        for (int i = 1; i < count; i++) {
            void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
            REQUIRE(library != NULL && (plug_ins[i] = (word(*)(void))dlsym(library, "plug_in")) != NULL);
            for (int before = 1; before <= i; before++)
                REQUIRE(plug_ins[before]() == MIXED("H5Dread", (word)before, 1, 2, 3, 4, 5, 6) + 1);
            REQUIRE(dlerror() == NULL);
        }
    return 0;
}

#endif
