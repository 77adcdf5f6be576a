/* C++ whose stacks are walked at each instruction (stack_oracle.c): exceptions on their way, destructors that they run, templates, virtuals. */
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void stack_oracle_step();
extern "C" void stack_oracle_rest();

static volatile long sum;

#define APART __attribute__((noinline))

struct Base {
    virtual ~Base() = default;
    virtual long of(int n) = 0;
};
struct Thrower : Base {
    APART long of(int n) override
    {
        if (n > 2)
            throw std::runtime_error("more than two");
        return n;
    }
};
struct Guard {
    std::string text = "a text too long to be kept within the object itself";
    APART ~Guard()
    {
        sum = sum + static_cast<long>(text.size());
    }
};

APART static long through(Base &base, int depth, int n)
{
    Guard guard;
    return depth == 0 ? base.of(n) : through(base, depth - 1, n) + 1;
}

APART static long again(Base &base)
{
    try {
        return through(base, 3, 3);
    } catch (const std::exception &error) {
        sum = sum + error.what()[0];
        throw;
    }
}

APART static void silent() noexcept
{
    try {
        std::vector<int>().at(3);
    } catch (const std::out_of_range &) {
        sum = sum + 1;
    }
}

int main()
{
    Thrower thrower;
    stack_oracle_step();
    std::vector<std::string> names;
    for (int i = 0; i < 5; i++)
        names.push_back("name " + std::to_string(i * 7 % 5));
    std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) { return a > b; });
    std::map<std::string, std::function<long(int)>> table{ { "a", [&](int n) { return through(thrower, 1, n); } } };
    sum = sum + table["a"](1);
    try {
        sum = sum + again(thrower);
    } catch (const std::runtime_error &) {
        sum = sum + 1;
    }
    silent();
    std::ostringstream stream;
    stream << 1.5 << " " << names.front();
    stack_oracle_rest();
    return sum == 42;
}
