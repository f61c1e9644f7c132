/* See generate.h. */
#include "tree/generate.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

enum { PATH_BYTES = 4096, FUNCTIONS_PER_FILE = 24 };

/*
 * The minimal standard generator of Park and Miller (CACM 31(10), 1988): x' = 16807 x mod (2^31 -
 * 1).
 */
static uint32_t next_number(uint32_t *state)
{
    *state = (uint32_t)((uint64_t)*state * 16807 % 2147483647);
    return *state;
}

static FILE *create(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "w");
}

/* Writing is buffered; errors show here at the latest. */
static int finish(FILE *file)
{
    int failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}

static int write_header(const char *directory, unsigned files)
{
    FILE *file = create(directory, "tree.h");
    if (file == NULL)
        return -1;
    fputs("#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n", file);
    for (unsigned i = 0; i < files; i++)
        fprintf(file, "uint32_t part_%u(uint32_t x);\n", i);
    return finish(file);
}

/*
 * Functions with loops, switches and tables. Their shape and constants depend on the file's number.
 */
static void write_function(FILE *file, unsigned function, uint32_t *state)
{
    fprintf(file, "static uint32_t step_%u(uint32_t x, uint32_t *table, size_t count)\n{\n", function);
    fprintf(file, "    for (size_t i = 0; i < count; i++) {\n        switch ((x ^ table[i]) %% %u) {\n",
            4 + next_number(state) % 8);
    unsigned cases = 3 + next_number(state) % 6;
    for (unsigned i = 0; i < cases; i++)
        fprintf(file, "        case %u:\n            x = (x * %uu) ^ (table[i] >> %u);\n            break;\n", i,
                next_number(state) % 100000, 1 + next_number(state) % 30);
    fprintf(file, "        default:\n            table[i] += x / %uu + %uu;\n        }\n", 1 + next_number(state) % 1000,
            next_number(state) % 1000);
    fprintf(file, "        if (x %% %uu == 0)\n            x += (uint32_t)i * %uu;\n    }\n    return x;\n}\n\n",
            2 + next_number(state) % 50, next_number(state) % 5000);
}

static int write_part(const char *directory, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "part_%u.c", number);
    FILE *file = create(directory, name);
    if (file == NULL)
        return -1;
    uint32_t state = number + 1;
    fputs("#include \"tree.h\"\n\n", file);
    for (unsigned i = 0; i < FUNCTIONS_PER_FILE; i++)
        write_function(file, i, &state);
    fprintf(file, "uint32_t part_%u(uint32_t x)\n{\n    uint32_t table[%u] = {x};\n", number, 8 + next_number(&state) % 56);
    for (unsigned i = 0; i < FUNCTIONS_PER_FILE; i++)
        fprintf(file, "    x = step_%u(x, table, sizeof table / sizeof table[0]);\n", i);
    fputs("    return x;\n}\n", file);
    return finish(file);
}

static int write_main(const char *directory, unsigned files)
{
    FILE *file = create(directory, "main.c");
    if (file == NULL)
        return -1;
    fputs("#include \"tree.h\"\n\nint main(void)\n{\n    uint32_t x = 1;\n", file);
    for (unsigned i = 0; i < files; i++)
        fprintf(file, "    x = part_%u(x);\n", i);
    fputs("    return printf(\"%lu\\n\", (unsigned long)x) < 0;\n}\n", file);
    return finish(file);
}

/* One rule for each file: pattern rules differ between GNU make and the BSDs'. */
static int write_makefile(const char *directory, unsigned files)
{
    FILE *file = create(directory, "Makefile");
    if (file == NULL)
        return -1;
    fputs("OBJECTS = main.o", file);
    for (unsigned i = 0; i < files; i++)
        fprintf(file, " part_%u.o", i);
    fputs("\n\nprogram: $(OBJECTS)\n\t@$(CC) -o program $(OBJECTS)\n\nmain.o: main.c tree.h\n\t@$(CC) -O1 -c main.c\n", file);
    for (unsigned i = 0; i < files; i++)
        fprintf(file, "\npart_%u.o: part_%u.c tree.h\n\t@$(CC) -O1 -c part_%u.c\n", i, i, i);
    return finish(file);
}

int tree_generate(const char *path, unsigned files)
{
    if (write_header(path, files) != 0 || write_main(path, files) != 0 || write_makefile(path, files) != 0)
        return -1;
    for (unsigned i = 0; i < files; i++)
        if (write_part(path, i) != 0)
            return -1;
    return 0;
}
