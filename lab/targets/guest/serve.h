/*
 * The agent on a host that is reached over SSH, or by a serial line: takes requests from standard input, does them one after the other, and tells all on standard output.
 *
 * Over SSH its input and output are pipes. At a serial line both are the line's terminal, which is set to pass bytes on as they are.
 *
 * It ends when its input ends, which it does when the connection or the lab is gone. Whatever it started is killed then, settings are put back, and its
 * directory is removed.
 */
#ifndef SERVE_H
#define SERVE_H

/* `directory`: one of ours, which may have `workloads` already, and is removed at the end. Returns the exit status. */
int serve(const char *directory);

#endif
