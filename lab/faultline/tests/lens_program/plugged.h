/* The only function of the library. */
#ifndef PLUGGED_H
#define PLUGGED_H

void plugged_count(int turns);

#endif
