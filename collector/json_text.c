#include "json_text.h"

#include <stdio.h>

void json_text(const char *name, const char *text)
{
    printf("\"%s\": \"", name);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < ' ' || c == 127)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    printf("\"");
}
