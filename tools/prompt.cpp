#include "prompt.h"
#include "terminal.h"
#include <algorithm>
#include <stdio.h>

// Rows on the screen since the prompt began, to get back to its first row.
struct painted_rows {
    std::vector<uint32_t> widths{0};
    uint32_t cursor_row = 0, cursor_column = 0;
};

// Rows between the top of what was painted and the cursor. A terminal that became narrower has wrapped the rows.
static uint32_t rows_above_cursor(const painted_rows &painted, uint32_t columns) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < painted.cursor_row && i < painted.widths.size(); i++)
        rows += std::max(1u, (painted.widths[i] + columns - 1) / columns);
    return rows + painted.cursor_column / columns;
}

static std::string move(uint32_t n, char direction) {
    return n ? "\x1b[" + std::to_string(n) + direction : std::string();
}

static std::vector<uint32_t> row_widths(const std::vector<text_cell> &cells) {
    std::vector<uint32_t> widths(cells.back().row + 1, 0);
    for (const text_cell &cell : cells) widths[cell.row] = std::max(widths[cell.row], cell.column);
    return widths;
}

// Paints the rows from the prompt's top row on: those around the cursor when there are more than the screen has.
static void paint(line_editor &editor, const prompt_look &look, painted_rows &painted, bool everything) {
    terminal_size size = terminal_get_size();
    editor.columns = std::max(size.columns, 2u);
    editor.indent = size.columns >= 8 ? 2 : 0;
    std::vector<text_cell> cells = lay_out(editor.text, editor.columns, editor.indent);
    std::vector<std::string> rows = rows_of(editor.text, cells);
    text_cell cursor = cursor_cell(cells, editor.cursor);
    uint32_t n_rows = static_cast<uint32_t>(rows.size()), top = 0;
    if (!everything && n_rows > size.rows) {
        top = std::min(cursor.row - std::min(cursor.row, size.rows / 2), n_rows - size.rows);
        n_rows = size.rows;
    }

    std::string out = "\r" + move(rows_above_cursor(painted, editor.columns), 'A') + "\x1b[J";
    for (uint32_t i = 0; i < n_rows; i++) {
        const char *before = editor.indent == 0 ? "" : top + i == 0 ? look.first : look.others;
        out += i ? "\r\n" : "";
        out += look.colour && *before ? std::string("\x1b[1m") + before + "\x1b[0m" : before;
        out += rows[top + i];
    }
    uint32_t row = cursor.row - top;
    out += move(n_rows - 1 - row, 'A') + "\r" + move(cursor.column, 'C');
    std::vector<uint32_t> widths = row_widths(cells);
    painted.widths.assign(widths.begin() + top, widths.begin() + top + n_rows);
    painted.cursor_row = row;
    painted.cursor_column = cursor.column;
    terminal_write(out);
}

static void leave(line_editor &editor, const prompt_look &look, painted_rows &painted) {
    editor.cursor = editor.text.size();
    paint(editor, look, painted, true);
    terminal_write("\r\n");
}

// Bytes follow the current one at once: those of this read, or of a next one that is already on its way.
static bool more_follows(const std::string &bytes, size_t at) {
    if (at + 1 < bytes.size()) return true;
    return bytes.size() > 1 && terminal_waiting() > 0;
}

struct key_reader {
    std::string bytes;
    size_t at = 0;
    size_t typed_ahead; // bytes typed before the prompt was there: each Enter among them meant what it says
};

// Feeds what was read; stops at the first event.
static edit_event feed(line_editor &editor, key_reader &reader) {
    edit_event event = edit_event::none;
    while (reader.at < reader.bytes.size() && event == edit_event::none) {
        bool ahead = reader.typed_ahead > 0;
        bool more = !ahead && more_follows(reader.bytes, reader.at);
        event = edit_byte(editor, reader.bytes[reader.at++], more);
        if (ahead) reader.typed_ahead--;
    }
    return event;
}

// Bytes left over when a message was complete belong to the next one.
static std::string left_over;

static prompt_result read_until_event(line_editor &editor, const prompt_look &look, painted_rows &painted) {
    key_reader reader{left_over, 0, left_over.size() + terminal_waiting()};
    left_over.clear();
    while (true) {
        edit_event event = feed(editor, reader);
        bool drained = reader.at >= reader.bytes.size();
        if (drained && event == edit_event::none && !terminal_waiting()) paint(editor, look, painted, false);
        switch (event) {
        case edit_event::submit: left_over = reader.bytes.substr(reader.at); return prompt_result::message;
        case edit_event::interrupt: return prompt_result::interrupt;
        case edit_event::end: return prompt_result::end;
        case edit_event::suspend: terminal_suspend(); break;
        case edit_event::clear_screen:
            terminal_write("\x1b[H\x1b[2J");
            painted = painted_rows();
            paint(editor, look, painted, false);
            break;
        case edit_event::none: break;
        }
        if (!drained) continue;
        reader.bytes.clear();
        reader.at = 0;
        switch (terminal_read(reader.bytes, editor.pending.empty() ? -1 : 100)) {
        case terminal_input::bytes: break;
        case terminal_input::timeout: edit_timeout(editor); break;
        case terminal_input::redraw: break;
        case terminal_input::closed: return prompt_result::end;
        }
    }
}

prompt_result read_message(line_editor &editor, const prompt_look &look) {
    terminal_keys(key_mode::edit);
    painted_rows painted;
    prompt_result result = read_until_event(editor, look, painted);
    leave(editor, look, painted);
    terminal_keys(key_mode::wait);
    return result;
}
