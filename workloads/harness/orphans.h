/*
 * Descendants whose parents have died before them: they become children of the calling process, where the system can promise
 * that (Linux), so that those that have left their process group can be ended too. Elsewhere both calls do nothing.
 */
#ifndef FAULTLINE_ORPHANS_H
#define FAULTLINE_ORPHANS_H

/* From now on. A failure, which only costs the promise, is not told. */
void orphans_adopt(void);

/* Sends SIGKILL to every child of the calling process; grandchildren become children only when those have died. */
void orphans_kill(void);

#endif
