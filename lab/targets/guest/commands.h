/* What the commands of a plan mean (docs/FORMATS.md, "A guest's plan"). */
#ifndef COMMANDS_H
#define COMMANDS_H

/* Does all commands of the plan that are left, in their order. */
void commands_obey(void);

#endif
