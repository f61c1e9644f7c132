/* The guest's network cards: their drivers, addresses and routes. IPv6 is left out where the kernel has none. */
#ifndef NETWORK_H
#define NETWORK_H

/* Loads a module of the kernel, compressed or not; one that is there already is none the worse. */
void network_load(const char *file);

/* Words: device, IPv4 address, length of its prefix, IPv6 address, length of its prefix. Brings the device up. */
void network_address(char **words);

/* Words: an IPv4 address of the network to reach, length of its prefix, the neighbour to send to; the same for IPv6. */
void network_route(char **words);

/* Passes on packets for others. */
void network_forward(void);

#endif
