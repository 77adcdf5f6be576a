/* Writes a file, reads it and removes it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char data[100] = "";
    int fd = open("forwarded", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(fd, data, sizeof data) != sizeof data || lseek(fd, 0, SEEK_SET) != 0 || read(fd, data, sizeof data) != sizeof data)
        return 1;
    return close(fd) != 0 || remove("forwarded") != 0;
}
