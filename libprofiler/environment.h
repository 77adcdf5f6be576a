/* See environment.c. What wrappers need of it is in engine.h. */
#ifndef SLICEWISE_ENVIRONMENT_H
#define SLICEWISE_ENVIRONMENT_H

#include "engine.h"

/* Our children belong to the same job. */
void environment_name_job(const char *job);

/* Takes note of what is to be carried on, as the environment is now. */
void environment_start(void);

#endif
