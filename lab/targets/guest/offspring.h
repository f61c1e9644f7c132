/* The processes that this one started, and those that they started: on a machine that goes on after us, none may be left. */
#ifndef OFFSPRING_H
#define OFFSPRING_H

#include <stdbool.h>

/* From now on orphans among our descendants become our children. */
void offspring_adopt(void);

/* Kills all of them and waits until they are gone; false when some could not be killed within seconds. */
bool offspring_kill(void);

#endif
