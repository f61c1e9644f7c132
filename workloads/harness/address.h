/* Internet addresses as in options: `198.18.0.1,2001:2::1`, at most one of each family. */
#ifndef FAULTLINE_ADDRESS_H
#define FAULTLINE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

union socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
};

/*
 * The list's address of this family (AF_INET, AF_INET6; AF_UNSPEC for the first), with port 0.
 * Returns false if the list has none, or if one of its words is not an address.
 */
bool address_read(const char *list, int family, union socket_address *address);

/*
 * The address as IPv6, without the port; IPv4 addresses are mapped (RFC 4291, 2.5.5.2), so that
 * both families compare.
 */
struct in6_addr address_mapped(const union socket_address *address);

bool address_is_loopback(const union socket_address *address);

socklen_t address_bytes(const union socket_address *address);

/* The port is in network order. */
void address_set_port(union socket_address *address, in_port_t port);
in_port_t address_port(const union socket_address *address);

#endif
