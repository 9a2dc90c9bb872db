// The terminal of an interactive chat: key modes, size, input with resize and resume, and its modes restored on every
// way out (return, exit, SIGTERM, SIGHUP, SIGQUIT, SIGINT, suspension).
#pragma once
#include <stdint.h>
#include <string>

// Takes the terminal: false, and nothing changed, when stdin or stdout is not one (or is one without cursor movement).
bool terminal_begin();
void terminal_end();
void terminal_restore(); // as terminal_end, and may be called in a signal handler

enum class key_mode {
    edit, // every key is a byte, also Ctrl-C
    wait  // while the model answers: keys are kept for the next message, Ctrl-C is SIGINT, Ctrl-Z suspends
};
void terminal_keys(key_mode mode);

struct terminal_size {
    uint32_t columns, rows;
};
terminal_size terminal_get_size();

enum class terminal_input { bytes, timeout, redraw, closed };
// Waits for input (timeout below 0: for ever). `redraw`: the size changed or the program was resumed.
terminal_input terminal_read(std::string &bytes, int timeout_ms);
uint32_t terminal_waiting(); // bytes that can be read at once
void terminal_suspend();     // as Ctrl-Z; returns when the shell resumes the program
void terminal_write(const std::string &text);
