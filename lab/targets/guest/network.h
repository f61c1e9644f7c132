/*
 * The guest's network: its cards with drivers, addresses and routes, and the loopback device. IPv6
 * is omitted if the kernel lacks it.
 */
#ifndef NETWORK_H
#define NETWORK_H

/* Loads a module of the kernel, compressed or not. A module that is loaded already is no error. */
void network_load(const char *file);

/*
 * Words: device, IPv4 address, length of its prefix, IPv6 address, length of its prefix. Enables
 * the device.
 */
void network_address(char **words);

/*
 * Words: IPv4 address of the destination network, length of its prefix, the next hop; the same
 * three for IPv6.
 */
void network_route(char **words);

/* Enables forwarding. */
void network_forward(void);

/*
 * Enables the loopback device, so that a server and its clients reach each other at 127.0.0.1. A
 * kernel without network has no such device: programs that need it report the error.
 */
void loopback_up(void);

#endif
