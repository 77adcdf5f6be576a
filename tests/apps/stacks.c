/* Code whose stacks are of all kinds: for stack_oracle.c, which walks them at each instruction. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

void stack_oracle_step(void);
void stack_oracle_rest(void);

static volatile long sum;
static jmp_buf back;

#define APART __attribute__((noinline))

/* A leaf that keeps its variables below the stack pointer. */
APART static long red_zone(long a, long b)
{
    volatile long kept[8] = { a, b, a + b, a - b };
    return kept[0] + kept[3];
}

APART static long many(long a, long b, long c, long d, long e, long f, long g, long h, double x, double y)
{
    return red_zone(a * b, c * d) + red_zone(e * f, g * h) + (long)(x * y);
}

APART static long of_a_size(unsigned n)
{
    char *room = alloca(n), array[n + 1];
    memset(room, (int)n, n);
    memset(array, 1, sizeof array);
    return red_zone(room[n / 2], array[n / 3]);
}

/* The stack pointer is aligned anew: the caller's frame is found by an expression. */
APART static long aligned(long n)
{
    volatile long wide[16] __attribute__((aligned(128)));
    wide[n % 16] = n;
    return of_a_size((unsigned)n + 5) + wide[n % 16];
}

APART static long recursive(int depth)
{
    return depth == 0 ? many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) : recursive(depth - 1) + depth;
}

/* It ends in a call that does not return: the return address is in the next function. */
__attribute__((noinline, noreturn)) static void jump_back(int value)
{
    longjmp(back, value);
}

__attribute__((noinline, noreturn, cold)) static void never_returns(int value)
{
    sum += value;
    jump_back(value);
}

APART static long split(int value)
{
    if (__builtin_expect(value > 2, 0)) {
        sum += recursive(value % 3);
        never_returns(value);
    }
    return recursive(value);
}

APART static long tail(long n)
{
    sum += n;
    return recursive((int)n);
}

APART static long varied(int count, ...)
{
    va_list list;
    long total = 0;
    va_start(list, count);
    while (count-- > 0)
        total += va_arg(list, long);
    va_end(list);
    return total;
}

struct large {
    long word[40];
};

APART static struct large by_value(struct large in)
{
    in.word[7] += red_zone(in.word[1], in.word[2]);
    return in;
}

static int by_remainder(const void *a, const void *b)
{
    return *(const int *)a % 7 - *(const int *)b % 7;
}

static void in_handler(int number)
{
    stack_oracle_step(); /* the kernel begins handlers without the flag of single steps, and has the flag again when they return */
    sum += recursive(number % 3);
}

static void raise_in(int flags)
{
    struct sigaction action = { .sa_handler = in_handler, .sa_flags = flags };
    sigaction(SIGUSR1, &action, NULL);
    kill(getpid(), SIGUSR1);
}

static ucontext_t here, there;

static void in_context(void)
{
    sum += recursive(2);
    swapcontext(&there, &here);
}

static void *in_thread(void *argument)
{
    stack_oracle_step();
    sum += recursive((int)(long)argument);
    stack_oracle_rest();
    return NULL;
}

int main(void)
{
    static char handlers_stack[1 << 16], contexts_stack[1 << 16];
    int numbers[40];
    char text[200];
    pthread_t thread;
    stack_t other = { .ss_sp = handlers_stack, .ss_size = sizeof handlers_stack };
    sigaltstack(&other, NULL);
    for (int i = 0; i < 40; i++)
        numbers[i] = 37 * i;
    getcontext(&there);
    there.uc_stack.ss_sp = contexts_stack;
    there.uc_stack.ss_size = sizeof contexts_stack;
    makecontext(&there, in_context, 0);

    stack_oracle_step();
    sum += many(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5) + aligned(3) + tail(3) + split(1) + varied(3, 1L, 2L, 3L);
    if (setjmp(back) == 0)
        sum += split(5);
    struct large large = by_value((struct large){ { 1, 2, 3 } });
    sum += large.word[7];
    qsort(numbers, 40, sizeof *numbers, by_remainder);
    snprintf(text, sizeof text, "%g %s %ld", 1.25, "text", (long)sum);
    raise_in(0);
    raise_in(SA_ONSTACK);
    swapcontext(&here, &there);
    free(malloc(100000));
    stack_oracle_rest();

    pthread_create(&thread, NULL, in_thread, (void *)2L);
    pthread_join(thread, NULL);
    return sum == 42;
}
