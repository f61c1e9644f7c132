/*
 * The agent's entry point. As `agent serve DIRECTORY`, it serves a lab that reaches this machine
 * over SSH (serve.h). Otherwise it is the first process of a guest (first_process.h), linked
 * statically, because the initramfs contains only the agent and the workloads.
 */
#include <string.h>

#include "first_process.h"
#include "serve.h"

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "serve") == 0)
        return serve(words[2]);
    return first_process();
}
