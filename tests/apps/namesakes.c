/* A library (-DLIBRARY) with functions of its own whose names are also libc's and whose prototypes are not, which it also calls itself, and a
 * program that calls them too. What either gets is printed. */
int printf(const char *format, ...);

struct list {
    int count;
    int at[8];
};
struct big {
    long at[6];
};

int remove(struct list *list, int place, double weight, float, int, int, int, int, int, int last);
struct big splice(struct list *a, int from, struct list *b, int to);
double sync(double a, double b, double c);
int tee(const char *format, ...);
int call_from_within(void);

#ifdef LIBRARY
#include <stdarg.h>

int remove(struct list *list, int place, double weight, float light, int a, int b, int c, int d, int e, int last)
{
    for (int i = place; i + 1 < list->count; i++)
        list->at[i] = list->at[i + 1];
    return --list->count * 1000 + (int)(weight * 100) + (int)(light * 10) + a + b + c + d + e + last;
}

struct big splice(struct list *a, int from, struct list *b, int to)
{
    struct big big = { { a->count, from, b->count, to, 5, 6 } };
    a->at[from] = b->at[to];
    return big;
}

double sync(double a, double b, double c)
{
    return a * 100 + b * 10 + c;
}

int tee(const char *format, ...)
{
    double sum = 0;
    va_list arguments;
    va_start(arguments, format);
    for (; *format != '\0'; format++)
        sum += *format == 'd' ? va_arg(arguments, double) : va_arg(arguments, int);
    va_end(arguments);
    return (int)sum;
}

int call_from_within(void)
{
    struct list list = { 3, { 1, 2, 3 } }, other = { 1, { 9 } };
    int removed = remove(&list, 0, 0.25, 0.5f, 0, 0, 0, 0, 0, 1);
    struct big big = splice(&list, 1, &other, 0);
    return removed + (int)big.at[5] + list.at[1] + (int)sync(0.1, 0.2, 0.3) + tee("di", 1.5, 2);
}
#else
int main(void)
{
    struct list list = { 3, { 1, 2, 3 } }, other = { 1, { 9 } };
    for (int i = 0; i < 2; i++) {
        int removed = remove(&list, 0, 0.25, 0.5f, 0, 0, 0, 0, 0, 1);
        struct big big = splice(&list, 0, &other, 0);
        printf("%d %ld %ld %d\n", removed, big.at[0], big.at[5], list.at[0]);
        printf("%g %d %d\n", sync(1.5, 2.5, 3.5), tee("dididididid", 1.0, 2, 3.0, 4, 5.0, 6, 7.0, 8, 9.0, 10, 11.0), call_from_within());
    }
    return 0;
}
#endif
