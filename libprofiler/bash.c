#include "bash.h"

#include "peek.h"
#include "segment.h"
#include "symbol.h"

#include <string.h>

static struct {
    bool is_looked_for;
    uint64_t loop; /* 0: this is no bash */
    uint64_t line, script, function, nested;
} bash;

static uint64_t address_of(const char *name)
{
    return (uint64_t)(uintptr_t)symbol_find(name, true);
}

/* As Python's. Only bash has all of these names. */
static void look_for_bash(void)
{
    bash.is_looked_for = true;
    bash.script = address_of("shell_script_filename");
    if (bash.script == 0)
        return;
    bash.line = address_of("line_number");
    bash.function = address_of("this_shell_function");
    bash.nested = address_of("sourcelevel");
    if (bash.line != 0 && bash.function != 0 && bash.nested != 0)
        bash.loop = address_of("execute_command_internal");
}

uint64_t bash_loop(void)
{
    if (!bash.is_looked_for)
        look_for_bash();
    return bash.loop;
}

unsigned bash_frames(struct python_frame *frame)
{
    uint64_t function, script;
    int32_t line, nested;
    if (bash_loop() == 0 || !peek(bash.script, &script, sizeof script) || script == 0 || !peek(bash.line, &line, sizeof line) ||
        !peek(bash.nested, &nested, sizeof nested) || !peek(bash.function, &function, sizeof function))
        return 0;
    *frame = (struct python_frame){ .names = { 0, script } };
    if (function != 0) /* a variable begins with its name */
        return peek(function, &frame->names[0], sizeof frame->names[0]);
    if (nested == 0 && line > 0)
        frame->instruction = (uint64_t)line;
    return 1;
}

bool bash_describe(const struct python_frame *frame, char *function, char *file, uint64_t *line)
{
    *line = frame->instruction;
    if (frame->names[0] == 0)
        memcpy(function, "main", sizeof "main"); /* as FUNCNAME has it */
    else if (peek_text((const char *)(uintptr_t)frame->names[0], function, PYTHON_NAME_BYTES) <= 0)
        return false;
    return peek_text((const char *)(uintptr_t)frame->names[1], file, PYTHON_FILE_BYTES) > 0;
}
