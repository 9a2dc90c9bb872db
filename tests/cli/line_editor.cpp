#include "../../tools/line_editor.h"
#include "../../tools/text.h"
#include "test.h"
#include <algorithm>
#include <random>

static edit_event feed(line_editor &editor, std::string_view bytes) {
    edit_event event = edit_event::none;
    for (char byte : bytes) event = edit_byte(editor, byte, false);
    return event;
}

static std::string after(std::string_view keys) {
    line_editor editor;
    feed(editor, keys);
    return editor.text.substr(0, editor.cursor) + "|" + editor.text.substr(editor.cursor);
}

static const std::string family = "\U0001f468\u200d\U0001f469\u200d\U0001f467", flag = "\U0001f1e9\U0001f1ea";

TEST_CASE("keys change the text as readline does", "[cli]") {
    CHECK(after("abc") == "abc|");
    CHECK(after("abc\x1b[D\x1b[D") == "a|bc");
    CHECK(after("abc\x01-\x05+") == "-abc+|");
    CHECK(after("one two\x17three") == "one three|");
    CHECK(after("one two\x1b"
                "b\x0b") == "one |");
    CHECK(after("one two\x15\x19\x19") == "one twoone two|");
    CHECK(after("one, two\x1b[1;5D\x1b[1;5D\x1b"
                "d") == "|, two");
    CHECK(after("ab\x1b[D\x7f") == "|b");
    CHECK(after("ab\x1b[D\x1b[3~") == "a|");
    CHECK(after("a\x1b\rb\x01-") == "a\n-|b");
    CHECK(after("a\\\rb") == "a\nb|");
    CHECK(after("\x1b[99;5uab\x1bOQ\x1b[15~") == "ab|"); // keys without a meaning do nothing
}

TEST_CASE("the cursor moves and deletes by grapheme cluster", "[cli]") {
    for (const std::string &cluster : {family, flag, std::string("e\u0301"), std::string("\u1112\u1161\u11ab"),
                                       std::string("1\ufe0f\u20e3"), std::string("\U0001f44d\U0001f3fd")}) {
        INFO(cluster);
        CHECK(after("a" + cluster + "b\x1b[D\x1b[D") == "a|" + cluster + "b");
        CHECK(after("a" + cluster + "b\x1b[D\x7f") == "a|b");
        CHECK(after("a" + cluster + "b\x01\x1b[C\x1b[3~") == "a|b");
    }
    // A mark typed before a letter's accent joins the letter: the cursor goes behind both.
    CHECK(after("eb\x1b[D\u0301") == "e\u0301|b");
}

TEST_CASE("events say what a key means for the message", "[cli]") {
    line_editor editor;
    CHECK(feed(editor, "\x04") == edit_event::end);
    CHECK(feed(editor, "a\x03") == edit_event::interrupt);
    CHECK(feed(editor, "\x1a") == edit_event::suspend);
    CHECK(feed(editor, "\x0c") == edit_event::clear_screen);
    CHECK(feed(editor, "\r") == edit_event::submit);
    edit_next(editor, true);
    CHECK(feed(editor, "\n") == edit_event::none); // second half of CR LF
    CHECK(feed(editor, "b\n") == edit_event::submit);
    CHECK(editor.text == "b");
}

TEST_CASE("an Escape key alone is forgotten", "[cli]") {
    line_editor editor;
    feed(editor, "a\x1b");
    edit_timeout(editor);
    feed(editor, "b");
    CHECK(editor.text == "ab");
}

TEST_CASE("a marked paste is one text, whatever is in it", "[cli]") {
    CHECK(after("<\x1b[200~a\r\nb\rc\x03\x1b[A\x1b[201~>") == "<a\nb\nc\x03\x1b[A>|");
    line_editor editor;
    feed(editor, "\x1b[200~x\x1b[201~");
    CHECK(edit_byte(editor, '\r', true) == edit_event::submit); // this terminal marks pastes: no need to guess
}

TEST_CASE("an Enter inside a burst is part of a paste", "[cli]") {
    line_editor editor;
    for (char byte : std::string("a\r\nb")) CHECK(edit_byte(editor, byte, true) == edit_event::none);
    CHECK(editor.text == "a\nb");
    CHECK(edit_byte(editor, '\r', false) == edit_event::submit);
}

TEST_CASE("bytes that are not UTF-8 become U+FFFD", "[cli]") {
    CHECK(after("a\xff"
                "b") == "a\ufffd"
                        "b|");
    CHECK(after("\xe4\xb8\r") == "\ufffd\ufffd|");
    CHECK(after("\xed\xa0\x80") == "\ufffd\ufffd\ufffd|");
    CHECK(repaired("\xc0\x80") == "\ufffd\ufffd");
}

TEST_CASE("history keeps the draft", "[cli]") {
    line_editor editor;
    feed(editor, "first\r");
    edit_next(editor, true);
    feed(editor, "second\r");
    edit_next(editor, true);
    feed(editor, "dra\x1b[A");
    CHECK(editor.text == "second");
    feed(editor, "\x1b[A\x1b[A");
    CHECK(editor.text == "first");
    feed(editor, "\x1b[B\x1b[B\x1b[B");
    CHECK(editor.text == "dra");
}

TEST_CASE("rows wrap by columns and never inside a cluster", "[cli]") {
    // columns 6, indent 2: four columns a row; the wide one does not fit behind "abc"
    std::string text = "abc\u4e2dd\ne";
    std::vector<text_cell> cells = lay_out(text, 6, 2);
    CHECK(rows_of(text, cells) == std::vector<std::string>{"abc", "\u4e2dd", "e"});
    CHECK(cells.back().row == 2);
    CHECK(cells.back().column == 3);
    std::vector<text_cell> full = lay_out("abcd", 6, 2); // the cursor behind a full row is below it
    CHECK(full.back().row == 1);
    CHECK(full.back().column == 2);
}

TEST_CASE("control characters are shown as pictures", "[cli]") {
    CHECK(harmless("a\x1b[31m\x07\n\tb\x7f\u009b") == "a\u241b[31m\u2407\n\tb\u2421\ufffd");
    CHECK(show_cluster("\x1b").width == 1);
    CHECK(show_cluster("\u0301").text == "\u25cc\u0301");
    CHECK(show_cluster(family).width == 2);
    CHECK(show_cluster(flag).width == 2);
    CHECK(show_cluster("\u2764\ufe0f").width == 2);
    CHECK(show_cluster("e\u0301").width == 1);
}

static bool is_boundary(std::string_view text, size_t cursor) {
    size_t at = 0;
    while (at < cursor) at = next_cluster(text, at);
    return at == cursor;
}

TEST_CASE("clusters are the same from either end", "[cli]") {
    static const std::string parts[] = {"a",      "\u0301", "\u200d", "\U0001f468", "\U0001f1e9", "\n",
                                        "\u1112", "\u1161", "\u4e2d", "\ufe0f",     "\xff",       "\xe4\xb8",
                                        "\r",     "\u0915", "\u094d", "\u0600"};
    const uint32_t seed = 7;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; i++) {
        std::string text;
        for (size_t n = 1 + random() % 20; n > 0; n--) text += parts[random() % std::size(parts)];
        std::vector<size_t> forwards{0}, backwards{text.size()};
        while (forwards.back() < text.size()) forwards.push_back(next_cluster(text, forwards.back()));
        while (backwards.back() > 0) backwards.push_back(previous_cluster(text, backwards.back()));
        std::reverse(backwards.begin(), backwards.end());
        if (forwards != backwards) FAIL("text " << i << ": " << text);
    }
}

TEST_CASE("typing into a long text takes linear time", "[cli]") {
    line_editor editor;
    for (int i = 0; i < 300000; i++) edit_byte(editor, i % 7 ? 'a' : ' ', true); // quadratic: minutes
    CHECK(editor.cursor == 300000);
}

TEST_CASE("any keys leave a sound text and a layout inside the window", "[cli]") {
    static const std::string keys[] = {"a",
                                       " ",
                                       "\n",
                                       "\\",
                                       "\u4e2d",
                                       "\u0301",
                                       "\u200d",
                                       "\U0001f468",
                                       "\U0001f1e9",
                                       "\x1b[D",
                                       "\x1b[C",
                                       "\x1b[A",
                                       "\x1b[B",
                                       "\x7f",
                                       "\x1b[3~",
                                       "\x17",
                                       "\x15",
                                       "\x0b",
                                       "\x19",
                                       "\x1b\r",
                                       "\xff",
                                       "\xe4",
                                       "\x1b",
                                       "\t",
                                       "\x01",
                                       "\x1b[200~",
                                       "\x1b[201~",
                                       "\x1b"
                                       "f"};
    const uint32_t seed = 20260801;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    line_editor editor;
    for (int i = 0; i < 20000; i++) {
        editor.columns = 2 + random() % 30;
        editor.indent = editor.columns >= 8 ? 2 : 0;
        for (char byte : keys[random() % std::size(keys)])
            if (edit_byte(editor, byte, random() % 2) != edit_event::none) edit_next(editor, true);
        std::vector<text_cell> cells = lay_out(editor.text, editor.columns, editor.indent);
        bool inside = std::all_of(cells.begin(), cells.end(),
                                  [&](const text_cell &cell) { return cell.column < editor.columns; });
        bool sound = is_boundary(editor.text, editor.cursor) && repaired(editor.text) == editor.text && inside;
        if (!sound) FAIL("step " << i << ": text \"" << editor.text << "\", cursor " << editor.cursor);
        if (editor.text.size() > 500) edit_next(editor, false);
    }
}
