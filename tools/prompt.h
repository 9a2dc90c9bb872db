// Shows a line_editor on the terminal and runs it until a message is complete.
#pragma once
#include "line_editor.h"

enum class prompt_result { message, interrupt, end };

struct prompt_look {
    const char *first;  // two columns, shown before the first row
    const char *others; // two columns, before the rows below
    bool colour;
};

// Returns with the cursor below the text. The message is in editor.text; call edit_next afterwards. For `interrupt` and
// `end` the text may be unfinished.
prompt_result read_message(line_editor &editor, const prompt_look &look);
