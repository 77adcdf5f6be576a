/* Calls of standard I/O that a tool stands in front of. */
#include <stdio.h>
#include <string.h>

#undef getc
#undef putc

int main(void)
{
    char data[64] = "", line[64];
    FILE *file = fopen("tooled", "w+");
    for (int i = 0; i < 1000; i++)
        if (putc('c', file) != 'c' || fputs("line\n", file) != 4711 || fwrite(data, 1, sizeof data, file) != sizeof data)
            return 1;
    rewind(file);
    for (int i = 0; i < 1000; i++)
        if (getc(file) != 'c' || fgets(line, sizeof line, file) == NULL || strcmp(line, "line\n") != 0 ||
            fread(data, 1, sizeof data, file) != sizeof data)
            return 1;
    return fclose(file) != 0;
}
