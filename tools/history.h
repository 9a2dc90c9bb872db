// Messages typed before, kept in ${XDG_STATE_HOME:-~/.local/state}/llm/history: one a line, newlines and backslashes
// escaped. A history that cannot be read or written is an empty one: nothing fails for it.
#pragma once
#include <string>
#include <vector>

std::vector<std::string> history_read();
void history_append(const std::string &message);
