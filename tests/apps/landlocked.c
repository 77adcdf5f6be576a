/* Allows itself to write below its working directory alone, while it may make files anywhere, and writes one: the first call that is counted. Ends
 * with 77 where the kernel has no landlock. */
#include "scenario.h"

#include <sys/prctl.h>

enum { CREATE_RULESET = 444, ADD_RULE, RESTRICT_SELF, PATH_BENEATH = 1, WRITE_FILE = 1 << 1 };

int main(void)
{
    unsigned long handled = WRITE_FILE;
    int rules = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0), file, here = (int)unseen_syscall(SYS_openat, AT_FDCWD, ".", O_PATH);
    if (rules < 0)
        return 77;
    struct __attribute__((packed)) {
        unsigned long allowed;
        int parent;
    } beneath = { WRITE_FILE, here };
    REQUIRE(syscall(ADD_RULE, rules, PATH_BENEATH, &beneath, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(RESTRICT_SELF, rules, 0) == 0);
    REQUIRE((file = open("file", O_WRONLY | O_CREAT, 0600)) >= 0 && write(file, "text", 4) == 4);
    return 3;
}
