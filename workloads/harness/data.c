/* See data.h. */
#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "task.h"

/* At least the page size of every supported system; larger does no harm. */
enum { PAGE_BYTES = 4096 };

char *data_new(struct task *task)
{
    void *data = NULL;
    int error = posix_memalign(&data, PAGE_BYTES, task->plan->size);
    if (error != 0)
        task_fail(task, "posix_memalign", error);
    memset(data, 'F', task->plan->size);
    return data;
}
