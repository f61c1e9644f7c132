/*
 * Descendants whose parents died before them. Where the system guarantees it (Linux), they become
 * children of the calling process, so that those that left their process group can be killed too.
 * On other systems both calls do nothing.
 */
#ifndef FAULTLINE_ORPHANS_H
#define FAULTLINE_ORPHANS_H

/* Adopts from now on. A failure is not reported; it only costs this guarantee. */
void orphans_adopt(void);

/*
 * Sends SIGKILL to every child of the calling process. Grandchildren become children only after
 * their parents have died.
 */
void orphans_kill(void);

#endif
