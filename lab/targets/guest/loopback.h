/* The guest's network: itself alone. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

/*
 * Brings the loopback device up, so that a server and its clients reach each other at 127.0.0.1. A kernel without network has no such
 * device: what needs it says so itself.
 */
void loopback_up(void);

#endif
