/* Where variables lie: those that are touched together share pages, for each page that a process touches costs it a microsecond or two. The linker
 * sorts them by these names (--sort-section=name). */
#ifndef SLICEWISE_SECTIONS_H
#define SLICEWISE_SECTIONS_H

/* What every process touches at its beginning: the rest of a page that the loader writes to anyway. */
#define START_DATA __attribute__((section(".data.0start")))

/* A page of its own (lazy_start.h). */
#define OWN_PAGE __attribute__((section(".bss.0own")))

/* What the first call of a wrapper touches, and what the start of the engine does. */
#define CALL_SECTION ".bss.1call"
#define CALL_DATA __attribute__((section(CALL_SECTION)))

/* What a process that counted something touches when it brings that home. The head begins a page, and of
 * the tail most processes touch the beginning alone. */
#define HOME_HEAD __attribute__((section(".bss.3home")))
#define HOME_DATA __attribute__((section(".bss.4home")))
#define HOME_TAIL __attribute__((section(".bss.5tail")))

#endif
