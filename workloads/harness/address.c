/* See address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <string.h>

static bool read_word(const char *word, union socket_address *address)
{
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, word, &address->ipv4.sin_addr) == 1) {
        address->ipv4.sin_family = AF_INET;
        return true;
    }
    if (inet_pton(AF_INET6, word, &address->ipv6.sin6_addr) == 1) {
        address->ipv6.sin6_family = AF_INET6;
        return true;
    }
    return false;
}

bool address_read(const char *list, int family, union socket_address *address)
{
    for (const char *rest = list;;) {
        char word[INET6_ADDRSTRLEN];
        size_t length = strcspn(rest, ",");
        if (length >= sizeof word)
            return false;
        memcpy(word, rest, length);
        word[length] = '\0';
        if (!read_word(word, address))
            return false;
        if (family == AF_UNSPEC || address->any.sa_family == family)
            return true;
        if (rest[length] == '\0')
            return false;
        rest += length + 1;
    }
}

struct in6_addr address_mapped(const union socket_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return address->ipv6.sin6_addr;
    struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(mapped.s6_addr + 12, &address->ipv4.sin_addr, sizeof address->ipv4.sin_addr);
    return mapped;
}

bool address_is_loopback(const union socket_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->ipv6.sin6_addr);
    return ntohl(address->ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

socklen_t address_bytes(const union socket_address *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof address->ipv6 : sizeof address->ipv4;
}

void address_set_port(union socket_address *address, in_port_t port)
{
    if (address->any.sa_family == AF_INET6)
        address->ipv6.sin6_port = port;
    else
        address->ipv4.sin_port = port;
}

in_port_t address_port(const union socket_address *address)
{
    return address->any.sa_family == AF_INET6 ? address->ipv6.sin6_port : address->ipv4.sin_port;
}
