/* Functions that lead to a transfer: outer calls middle, middle calls inner, and inner counts. */
#ifndef CALLED_H
#define CALLED_H

void outer(int bytes);

#endif
