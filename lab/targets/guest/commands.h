/* Execution of a plan's commands (docs/FORMATS.md, "A guest's plan"). */
#ifndef COMMANDS_H
#define COMMANDS_H

/* Executes the remaining commands of the plan, in order. */
void commands_obey(void);

#endif
