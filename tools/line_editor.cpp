#include "line_editor.h"
#include "text.h"
#include <algorithm>
#include <utf8proc.h>

// ---- layout

std::vector<text_cell> lay_out(std::string_view text, uint32_t columns, uint32_t indent) {
    std::vector<text_cell> cells;
    uint32_t row = 0, column = indent;
    for (size_t at = 0; at < text.size();) {
        size_t end = next_cluster(text, at);
        if (text[at] == '\n') {
            cells.push_back({at, row, column});
            row++;
            column = indent;
            at = end;
            continue;
        }
        uint32_t width = show_cluster(text.substr(at, end - at)).width;
        if (column + width > columns && column > indent) {
            row++;
            column = indent;
        }
        cells.push_back({at, row, column});
        column += width;
        // The cursor needs a place behind a full row: the next row's beginning.
        if (column >= columns) {
            row++;
            column = indent;
        }
        at = end;
    }
    cells.push_back({text.size(), row, column});
    return cells;
}

text_cell cursor_cell(const std::vector<text_cell> &cells, size_t cursor) {
    auto found = std::lower_bound(cells.begin(), cells.end(), cursor,
                                  [](const text_cell &cell, size_t offset) { return cell.offset < offset; });
    return found == cells.end() ? cells.back() : *found;
}

std::vector<std::string> rows_of(std::string_view text, const std::vector<text_cell> &cells) {
    std::vector<std::string> rows(cells.back().row + 1);
    for (size_t i = 0; i + 1 < cells.size(); i++) {
        if (text[cells[i].offset] == '\n') continue;
        rows[cells[i].row] += show_cluster(text.substr(cells[i].offset, cells[i + 1].offset - cells[i].offset)).text;
    }
    return rows;
}

// ---- moves and changes

static size_t line_start(const line_editor &editor) {
    size_t newline = editor.cursor ? editor.text.rfind('\n', editor.cursor - 1) : std::string::npos;
    return newline == std::string::npos ? 0 : newline + 1;
}

static size_t line_end(const line_editor &editor) {
    return std::min(editor.text.find('\n', editor.cursor), editor.text.size());
}

static size_t left_of(const line_editor &editor) {
    return editor.cursor ? previous_cluster(editor.text, editor.cursor) : 0;
}

static size_t right_of(const line_editor &editor) {
    return editor.cursor < editor.text.size() ? next_cluster(editor.text, editor.cursor) : editor.cursor;
}

// A word is a run of clusters that begin with a letter, mark, digit or symbol beyond ASCII (an emoji, an ideograph).
static bool is_word_at(std::string_view text, size_t at) {
    utf8proc_int32_t value = 0;
    auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4));
    if (utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + at, left, &value) <= 0) return false;
    utf8proc_category_t category = utf8proc_category(value);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) || category == UTF8PROC_CATEGORY_SO;
}

static size_t word_left(const line_editor &editor) {
    size_t at = editor.cursor;
    bool inside = false;
    while (at > 0) {
        size_t before = previous_cluster(editor.text, at);
        bool word = is_word_at(editor.text, before);
        if (inside && !word) break;
        inside = word;
        at = before;
    }
    return at;
}

static size_t word_right(const line_editor &editor) {
    size_t at = editor.cursor;
    bool inside = false;
    while (at < editor.text.size()) {
        bool word = is_word_at(editor.text, at);
        if (inside && !word) break;
        inside = word;
        at = next_cluster(editor.text, at);
    }
    return at;
}

// A change beside the cursor can join clusters: the cursor then goes to the joined one's end.
static void settle_cursor(line_editor &editor) { editor.cursor = boundary_from(editor.text, editor.cursor); }

static void insert(line_editor &editor, std::string_view bytes) {
    std::string text = repaired(bytes);
    editor.text.insert(editor.cursor, text);
    editor.cursor += text.size();
    settle_cursor(editor);
}

static void erase(line_editor &editor, size_t begin, size_t end) {
    editor.text.erase(begin, end - begin);
    editor.cursor = begin;
    settle_cursor(editor);
}

static void kill(line_editor &editor, size_t begin, size_t end) {
    if (begin < end) editor.killed = editor.text.substr(begin, end - begin);
    erase(editor, begin, end);
}

static void show_history(line_editor &editor, size_t place) {
    if (editor.history_place == editor.history.size()) editor.draft = editor.text;
    editor.history_place = place;
    editor.text = place == editor.history.size() ? editor.draft : editor.history[place];
    editor.cursor = editor.text.size();
}

// To the row above (-1) or below (+1) on the screen; false at the first or last one.
static bool move_row(line_editor &editor, int direction) {
    std::vector<text_cell> cells = lay_out(editor.text, editor.columns, editor.indent);
    text_cell here = cursor_cell(cells, editor.cursor);
    if (direction < 0 ? here.row == 0 : here.row == cells.back().row) return false;
    uint32_t row = here.row + static_cast<uint32_t>(direction);
    uint32_t column = editor.wanted_column.value_or(here.column);
    editor.wanted_column = column;
    for (const text_cell &cell : cells)
        if (cell.row == row && (cell.column <= column || cell.column == editor.indent)) editor.cursor = cell.offset;
    return true;
}

// ---- keys

using key_action = edit_event (*)(line_editor &editor);
struct key {
    const char *bytes;
    key_action action;
};

static edit_event newline(line_editor &editor) { return insert(editor, "\n"), edit_event::none; }
static edit_event left(line_editor &editor) { return editor.cursor = left_of(editor), edit_event::none; }
static edit_event right(line_editor &editor) { return editor.cursor = right_of(editor), edit_event::none; }
static edit_event back_word(line_editor &editor) { return editor.cursor = word_left(editor), edit_event::none; }
static edit_event forward_word(line_editor &editor) { return editor.cursor = word_right(editor), edit_event::none; }
static edit_event home(line_editor &editor) { return editor.cursor = line_start(editor), edit_event::none; }
static edit_event to_end(line_editor &editor) { return editor.cursor = line_end(editor), edit_event::none; }
static edit_event erase_left(line_editor &editor) {
    return erase(editor, left_of(editor), editor.cursor), edit_event::none;
}
static edit_event erase_right(line_editor &editor) {
    return erase(editor, editor.cursor, right_of(editor)), edit_event::none;
}
static edit_event kill_start(line_editor &editor) {
    return kill(editor, line_start(editor), editor.cursor), edit_event::none;
}
static edit_event kill_end(line_editor &editor) {
    return kill(editor, editor.cursor, line_end(editor)), edit_event::none;
}
static edit_event kill_word_left(line_editor &editor) {
    return kill(editor, word_left(editor), editor.cursor), edit_event::none;
}
static edit_event kill_word_right(line_editor &editor) {
    return kill(editor, editor.cursor, word_right(editor)), edit_event::none;
}
static edit_event yank(line_editor &editor) { return insert(editor, editor.killed), edit_event::none; }
static edit_event interrupt(line_editor &) { return edit_event::interrupt; }
static edit_event suspend(line_editor &) { return edit_event::suspend; }
static edit_event clear_screen(line_editor &) { return edit_event::clear_screen; }
static edit_event tab(line_editor &editor) { return insert(editor, "\t"), edit_event::none; }
static edit_event end_or_erase(line_editor &editor) {
    return editor.text.empty() ? edit_event::end : erase_right(editor);
}
static edit_event up(line_editor &editor) {
    if (!move_row(editor, -1) && editor.history_place > 0) show_history(editor, editor.history_place - 1);
    return edit_event::none;
}
static edit_event down(line_editor &editor) {
    bool older = editor.history_place < editor.history.size();
    if (!move_row(editor, 1) && older) show_history(editor, editor.history_place + 1);
    return edit_event::none;
}
static edit_event begin_paste(line_editor &editor) {
    editor.pasting = editor.paste_marks_seen = true;
    editor.pasted.clear();
    return edit_event::none;
}

// clang-format off
static const key keys[] = {
    {"\x01", home},             {"\x1b[H", home},           {"\x1bOH", home},       {"\x1b[1~", home},   {"\x1b[7~", home},
    {"\x05", to_end},           {"\x1b[F", to_end},         {"\x1bOF", to_end},     {"\x1b[4~", to_end}, {"\x1b[8~", to_end},
    {"\x02", left},             {"\x1b[D", left},           {"\x1bOD", left},
    {"\x06", right},            {"\x1b[C", right},          {"\x1bOC", right},
    {"\x10", up},               {"\x1b[A", up},             {"\x1bOA", up},
    {"\x0e", down},             {"\x1b[B", down},           {"\x1bOB", down},
    {"\x1b" "b", back_word},    {"\x1b[1;5D", back_word},   {"\x1b[1;3D", back_word},
    {"\x1b" "f", forward_word}, {"\x1b[1;5C", forward_word},{"\x1b[1;3C", forward_word},
    {"\x7f", erase_left},       {"\x08", erase_left},
    {"\x1b[3~", erase_right},   {"\x04", end_or_erase},
    {"\x15", kill_start},       {"\x0b", kill_end},         {"\x19", yank},
    {"\x17", kill_word_left},   {"\x1b\x7f", kill_word_left}, {"\x1b\x08", kill_word_left},
    {"\x1b" "d", kill_word_right}, {"\x1b[3;5~", kill_word_right},
    {"\x1b\r", newline},        {"\x1b\n", newline},        {"\x1b[13;2u", newline}, {"\x1b[13;3u", newline}, {"\x1b[27;2;13~", newline},
    {"\x03", interrupt},        {"\x1a", suspend},          {"\x0c", clear_screen},  {"\t", tab},
    {"\x1b[200~", begin_paste},
};
// clang-format on

static const std::string_view paste_end = "\x1b[201~";

static void finish_paste(line_editor &editor) {
    std::string text;
    for (size_t i = 0; i < editor.pasted.size(); i++) {
        if (editor.pasted[i] == '\r') {
            text += '\n';
            if (i + 1 < editor.pasted.size() && editor.pasted[i + 1] == '\n') i++;
        } else {
            text += editor.pasted[i];
        }
    }
    insert(editor, text);
    editor.pasting = false;
    editor.pasted.clear();
}

static edit_event enter(line_editor &editor, bool more) {
    if (more && !editor.paste_marks_seen) return newline(editor);
    if (editor.cursor == editor.text.size() && !editor.text.empty() && editor.text.back() == '\\') {
        erase_left(editor);
        return newline(editor);
    }
    return edit_event::submit;
}

// An escape sequence is over with a final byte 0x40..0x7E after "ESC [" (after "ESC O": any byte; else the byte
// itself).
static bool is_complete_sequence(std::string_view bytes) {
    if (bytes.size() < 2) return false;
    if (bytes[1] == 'O') return bytes.size() > 2;
    if (bytes[1] != '[') return true;
    return bytes.size() > 2 && bytes.back() >= 0x40 && bytes.back() <= 0x7E;
}

static bool is_control_byte(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

static edit_event take_key(line_editor &editor, key_action action) {
    editor.pending.clear();
    if (action != up && action != down) editor.wanted_column.reset();
    return action(editor);
}

static edit_event take_pending(line_editor &editor) {
    for (const key &row : keys)
        if (editor.pending == row.bytes) return take_key(editor, row.action);
    char first = editor.pending[0];
    if (first == '\x1b') {
        if (is_complete_sequence(editor.pending)) editor.pending.clear(); // a key without meaning here
        return edit_event::none;
    }
    if (is_control_byte(first)) {
        editor.pending.clear();
        return edit_event::none;
    }
    if (editor.pending.size() < utf8_length(static_cast<unsigned char>(first))) return edit_event::none;
    std::string bytes = std::move(editor.pending);
    editor.pending.clear();
    editor.wanted_column.reset();
    insert(editor, bytes);
    return edit_event::none;
}

edit_event edit_byte(line_editor &editor, char byte, bool more) {
    if (editor.pasting) {
        editor.pasted += byte;
        size_t size = editor.pasted.size();
        if (size >= paste_end.size() && editor.pasted.compare(size - paste_end.size(), size, paste_end) == 0) {
            editor.pasted.resize(size - paste_end.size());
            finish_paste(editor);
        }
        return edit_event::none;
    }
    bool second_half = byte == '\n' && editor.after_return;
    editor.after_return = byte == '\r';
    if (second_half) return edit_event::none;
    if (editor.pending.empty() && (byte == '\r' || byte == '\n')) return enter(editor, more);
    // A character cut short by a control key: what there is of it is shown as U+FFFD.
    bool cut = !editor.pending.empty() && editor.pending[0] != '\x1b' && (byte & 0xC0) != 0x80;
    if (cut) {
        insert(editor, editor.pending);
        editor.pending.clear();
        return edit_byte(editor, byte, more);
    }
    editor.pending += byte;
    return take_pending(editor);
}

void edit_timeout(line_editor &editor) {
    if (!editor.pending.empty() && editor.pending[0] == '\x1b') editor.pending.clear();
}

void edit_next(line_editor &editor, bool remember) {
    bool new_entry = !editor.text.empty() && (editor.history.empty() || editor.history.back() != editor.text);
    if (remember && new_entry) editor.history.push_back(editor.text);
    editor.text.clear();
    editor.draft.clear();
    editor.cursor = 0;
    editor.history_place = editor.history.size();
    editor.wanted_column.reset();
}
