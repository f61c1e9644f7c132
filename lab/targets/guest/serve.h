/*
 * The agent on a host that is reached over SSH or by a serial line: takes requests from standard
 * input, executes them one after the other, and reports on standard output.
 *
 * Over SSH its input and output are pipes. At a serial line both are the line's terminal, which is
 * set to pass bytes through.
 *
 * The agent ends when its input ends, because the connection or the lab is gone. It then kills what
 * it started, restores settings, and removes its directory.
 */
#ifndef SERVE_H
#define SERVE_H

/*
 * `directory`: our own, may already contain `workloads`, removed at the end. Returns the exit
 * status.
 */
int serve(const char *directory);

#endif
