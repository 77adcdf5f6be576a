#include "catch.h"
#include "engine_headers.h"

#include <algorithm>
#include <cstring>
#include <ucontext.h>
#include <vector>

namespace {

struct Walk {
    std::vector<uint64_t> code, functions;
};

__attribute__((noinline)) Walk walk(unsigned most = UNWIND_FRAMES_MAX)
{
    static unwind_state state;
    static unwind_frame frames[UNWIND_FRAMES_MAX];
    UNWIND_HERE(&state);
    unsigned count = unwind(&state, frames, most);
    Walk found;
    for (unsigned i = 0; i < count; i++) {
        found.code.push_back(frames[i].pc);
        found.functions.push_back(frames[i].function);
    }
    return found;
}

/* Each has a frame of some 3,000 bytes, so that the stack goes over many pages. */
__attribute__((noinline)) Walk walk_below(int frames)
{
    volatile unsigned char room[3000];
    room[0] = room[sizeof room - 1] = static_cast<unsigned char>(frames);
    Walk found = frames > 0 ? walk_below(frames - 1) : walk();
    room[0] = room[sizeof room - 1];
    return found;
}

} // namespace

TEST_CASE("a stack over many pages is walked to its end, and the same by what is remembered", "[unwind]")
{
    fake_system_reset();
    unwind_forget();
    Walk walks[3];
    for (Walk &one : walks)
        one = walk_below(30);
    uint64_t recursive = walks[0].functions[2];
    CHECK(std::count(walks[0].functions.begin(), walks[0].functions.end(), recursive) >= 29);
    CHECK(walks[0].code.size() > 33);
    CHECK(walks[0].functions.back() != 0); /* the program's entry, which nobody called */
    for (const Walk &one : walks) {
        CHECK(one.code == walks[0].code);
        CHECK(one.functions == walks[0].functions);
    }
    CHECK(walk(2).code.size() == 2);
}

namespace {

ucontext_t outside, inside;
Walk found_inside;

void walk_inside()
{
    found_inside = walk();
    swapcontext(&inside, &outside);
}

} // namespace

TEST_CASE("the stack of a context ends at its first function", "[unwind]")
{
    static char stack[1 << 16];
    fake_system_reset();
    unwind_forget();
    Walk direct = walk();
    for (int times = 0; times < 2; times++) {
        REQUIRE(getcontext(&inside) == 0);
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = sizeof stack;
        makecontext(&inside, walk_inside, 0);
        REQUIRE(swapcontext(&outside, &inside) == 0);
        CHECK(std::find(found_inside.functions.begin(), found_inside.functions.end(), direct.functions[1]) == found_inside.functions.end());
        CHECK(found_inside.functions.back() == found_inside.code.back() + 1);
    }
}

#ifdef __x86_64__
/* Compilers do not write such entries: the rule for the return address is an expression from the first instruction on, another expression takes its
 * place, and restore_extended brings the first one back. The second one would lead nowhere. */
asm(R"(
    .text
    .type restored_by_number, @function
restored_by_number:
    sub $8, %rsp
.Lrestored_after:
    call *%rdi
    add $8, %rsp
    ret
.Lrestored_end:
    .size restored_by_number, . - restored_by_number

    .section .eh_frame, "a", @progbits
.Lrestored_common:
    .long .Lrestored_common_end - .Lrestored_common_begin
.Lrestored_common_begin:
    .long 0
    .byte 1
    .asciz "zR"
    .uleb128 1
    .sleb128 -8
    .byte 16
    .uleb128 1
    .byte 0x1b
    .byte 0x0c, 7, 8              # def_cfa rsp + 8
    .byte 0x10, 16, 2, 0x38, 0x1c # expression of the return address: CFA 8 minus
    .balign 8, 0
.Lrestored_common_end:
    .long .Lrestored_entry_end - .Lrestored_entry_begin
.Lrestored_entry_begin:
    .long .Lrestored_entry_begin - .Lrestored_common
    .long restored_by_number - .
    .long .Lrestored_end - restored_by_number
    .uleb128 0
    .byte 0x40 + 4                # advance_loc, over the subtraction
    .byte 0x0e, 16                # def_cfa_offset
    .byte 0x10, 16, 2, 0x40, 0x1c # another expression: CFA 16 minus
    .byte 0x06, 16                # restore_extended
    .balign 8, 0
.Lrestored_entry_end:
    .text
)");
extern "C" void restored_by_number(void (*inner)());

TEST_CASE("a rule that is an expression comes back by restore_extended as it was", "[unwind]")
{
    static Walk found;
    fake_system_reset();
    unwind_forget();
    restored_by_number([] { found = walk(); });
    Walk direct = walk();
    REQUIRE(found.code.size() > direct.code.size());
    /* Below are walk() and what called it; above is what called both. */
    CHECK(std::equal(found.functions.end() - 4, found.functions.end(), direct.functions.end() - 4));
}
#endif
