#include "stepper.h"

#include "catch.h"

#include <csignal>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/* Runs it in a traced child, on from stop to stop by `request`. */
int trace(int request, const std::function<void()> &run, const std::function<void()> &at_stop)
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
    int status, stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
            FAIL("the traced child stopped for signal " << WSTOPSIG(status));
        at_stop();
        stops++;
        ptrace((__ptrace_request)request, child, nullptr, nullptr);
    }
    if (stops == 0) {
        WARN("skipped: this system does not let one process trace another");
        return -1;
    }
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return stops;
}

} // namespace

int step_through(const Watched &watched, const std::function<void()> &run, const std::function<void()> &at_moment)
{
    int moments = 0;
    std::vector<unsigned char> last;
    int stops = trace(PTRACE_SINGLESTEP, run, [&] {
        if (!last.empty() && std::memcmp(last.data(), watched.begin, watched.bytes) == 0)
            return;
        last.assign((const unsigned char *)watched.begin, (const unsigned char *)watched.begin + watched.bytes);
        at_moment();
        moments++;
    });
    return stops < 0 ? stops : moments;
}

int step_through_system_calls(const std::function<void()> &run, const std::function<void()> &at_moment)
{
    return trace(PTRACE_SYSCALL, run, at_moment);
}
