/* See network.h. */
#include "network.h"

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/route.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "channel.h"

/* From linux/module.h: the kernel unpacks the file itself. */
enum { COMPRESSED_FILE = 4 };

enum { PATH_BYTES = 128 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

void network_load(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int flags = ends_with(path, ".ko") ? 0 : COMPRESSED_FILE;
    if (file < 0 || (syscall(SYS_finit_module, file, "", flags) != 0 && errno != EEXIST))
        channel_failed(path, errno);
    if (file >= 0)
        close(file);
}

/* A setting that a kernel without IPv6 lacks. */
static void set_if_there(const char *path, const char *value)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, value, strlen(value)) < 0)
        channel_failed(path, errno);
    close(file);
}

static struct sockaddr *ipv4(struct sockaddr *room, in_addr_t address)
{
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = address};
    memcpy(room, &own, sizeof own);
    return room;
}

static in_addr_t mask(int prefix)
{
    return prefix == 0 ? 0 : htonl(UINT32_MAX << (32 - prefix));
}

/* One request to the kernel. False after a reported failure. */
static bool ask(int any, unsigned long request, void *what, const char *step)
{
    if (ioctl(any, request, what) == 0)
        return true;
    channel_failed(step, errno);
    return false;
}

static void address_ipv6(const char *device, const char *address, int prefix)
{
    int any = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0)
        return;
    struct in6_ifreq request = {.ifr6_prefixlen = (__u32)prefix, .ifr6_ifindex = (int)if_nametoindex(device)};
    inet_pton(AF_INET6, address, &request.ifr6_addr);
    ask(any, SIOCSIFADDR, &request, address);
    close(any);
}

void network_address(char **words)
{
    const char *device = words[0];
    char setting[PATH_BYTES];
    /*
     * The wire has no other hosts, and the search for duplicate addresses would lose the packets of
     * the first seconds.
     */
    snprintf(setting, sizeof setting, "/proc/sys/net/ipv6/conf/%s/accept_dad", device);
    set_if_there(setting, "0");
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0) {
        channel_failed("socket", errno);
        return;
    }
    struct ifreq request = {0};
    strncpy(request.ifr_name, device, sizeof request.ifr_name - 1);
    ipv4(&request.ifr_addr, inet_addr(words[1]));
    bool is_set = ask(any, SIOCSIFADDR, &request, words[1]);
    ipv4(&request.ifr_netmask, mask(atoi(words[2])));
    is_set = is_set && ask(any, SIOCSIFNETMASK, &request, words[1]);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    is_set = is_set && ask(any, SIOCSIFFLAGS, &request, device);
    close(any);
    if (is_set)
        address_ipv6(device, words[3], atoi(words[4]));
}

static void route_ipv6(const char *network, int prefix, const char *by)
{
    int any = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0)
        return;
    struct in6_rtmsg route = {.rtmsg_dst_len = (__u16)prefix, .rtmsg_metric = 1, .rtmsg_flags = RTF_UP | RTF_GATEWAY};
    inet_pton(AF_INET6, network, &route.rtmsg_dst);
    inet_pton(AF_INET6, by, &route.rtmsg_gateway);
    memset(route.rtmsg_dst.s6_addr + prefix / 8, 0, sizeof route.rtmsg_dst.s6_addr - (size_t)prefix / 8); /* whole bytes */
    ask(any, SIOCADDRT, &route, network);
    close(any);
}

void network_route(char **words)
{
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0) {
        channel_failed("socket", errno);
        return;
    }
    struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
    in_addr_t own_mask = mask(atoi(words[1]));
    ipv4(&route.rt_dst, inet_addr(words[0]) & own_mask);
    ipv4(&route.rt_genmask, own_mask);
    ipv4(&route.rt_gateway, inet_addr(words[2]));
    ask(any, SIOCADDRT, &route, words[0]);
    close(any);
    route_ipv6(words[3], atoi(words[4]), words[5]);
}

void network_forward(void)
{
    set_if_there("/proc/sys/net/ipv4/ip_forward", "1");
    set_if_there("/proc/sys/net/ipv6/conf/all/forwarding", "1");
}

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
