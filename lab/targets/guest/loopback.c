/* See loopback.h. */
#include "loopback.h"

#if defined(__linux__)

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel.h"

void loopback_up(void)
{
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0 && (errno == ENOSYS || errno == EAFNOSUPPORT))
        return;
    struct ifreq device = {.ifr_flags = IFF_UP | IFF_RUNNING};
    strcpy(device.ifr_name, "lo");
    if (any < 0 || ioctl(any, SIOCSIFFLAGS, &device) != 0)
        channel_failed("the loopback device", errno);
    close(any);
}

#endif
