/*
 * The agent on a host that is reached over SSH: takes requests from standard input, does them one after the other, and tells all on standard output.
 *
 * It ends when its input ends, which it does when the connection or the lab is gone. Whatever it started is killed then, settings are put back, and its
 * directory is removed.
 */
#ifndef SERVE_H
#define SERVE_H

/* `directory`: an empty one of ours, which is removed at the end. Returns the exit status. */
int serve(const char *directory);

#endif
