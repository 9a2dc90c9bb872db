// The text being typed: bytes of keys in, text, cursor and an event out. Nothing here touches a terminal, so that all
// of it can be tested; prompt.cpp shows it.
//
// The cursor moves by grapheme cluster. Text may have several lines. Keys follow Emacs and readline; the list is
// `keys` in line_editor.cpp.
#pragma once
#include <optional>
#include <stdint.h>
#include <string>
#include <string_view>
#include <vector>

enum class edit_event {
    none,
    submit,       // Enter: the text is complete
    interrupt,    // Ctrl-C
    end,          // Ctrl-D in an empty text
    suspend,      // Ctrl-Z
    clear_screen, // Ctrl-L
};

struct line_editor {
    std::string text;  // UTF-8, lines separated by '\n'
    size_t cursor = 0; // byte offset, always between two clusters
    uint32_t columns = 80, indent = 2;

    std::vector<std::string> history; // oldest first
    size_t history_place = 0;         // history.size(): the text being typed
    std::string draft;                // that text, while an older one is shown

    std::string pending; // bytes of a key that is not complete
    bool pasting = false, paste_marks_seen = false;
    std::string pasted;
    std::string killed;
    std::optional<uint32_t> wanted_column; // of vertical moves
    bool after_return = false;             // the latest byte was CR: a LF after it is the same key
};

// Takes one byte. `more` says that further bytes came with it: an Enter inside such a burst is part of a paste from a
// terminal without bracketed paste, and starts a new line instead of submitting.
edit_event edit_byte(line_editor &editor, char byte, bool more);
// No byte came for a while: an ESC that is still waiting was the Escape key, which means nothing.
void edit_timeout(line_editor &editor);
// Empties the text for the next message and remembers this one.
void edit_next(line_editor &editor, bool remember);

// Where each cluster is shown: rows of `columns`, the first `indent` of each taken by the prompt. The last cell is the
// end of the text.
struct text_cell {
    size_t offset;
    uint32_t row, column;
};
std::vector<text_cell> lay_out(std::string_view text, uint32_t columns, uint32_t indent);
text_cell cursor_cell(const std::vector<text_cell> &cells, size_t cursor);
// The text of every row, without the indent.
std::vector<std::string> rows_of(std::string_view text, const std::vector<text_cell> &cells);
