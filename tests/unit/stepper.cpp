#include "stepper.h"

#include "catch.h"

#include <csignal>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

int step_through(const Watched &watched, const std::function<void()> &run, const std::function<void()> &at_moment)
{
    pid_t child = fork();
    if (child == 0) {
        bool is_traced = ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
        if (is_traced) {
            raise(SIGSTOP);
            run();
        }
        _exit(is_traced ? 0 : 77);
    }
    int status, moments = 0;
    std::vector<unsigned char> last;
    auto look = [&] {
        if (!last.empty() && std::memcmp(last.data(), watched.begin, watched.bytes) == 0)
            return;
        last.assign((const unsigned char *)watched.begin, (const unsigned char *)watched.begin + watched.bytes);
        at_moment();
        moments++;
    };
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
            FAIL("the traced child stopped for signal " << WSTOPSIG(status));
        look();
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    }
    if (moments == 0) {
        WARN("skipped: this system does not let one process trace another");
        return -1;
    }
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return moments;
}
