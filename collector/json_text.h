/* A name and its text as JSON writes them. */
#ifndef SLICEWISE_JSON_TEXT_H
#define SLICEWISE_JSON_TEXT_H

/* Prints "name": "text". A path may hold anything; bytes from 128 on are left to the reader. */
void json_text(const char *name, const char *text);

#endif
