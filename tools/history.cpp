#include "history.h"
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <unistd.h>

namespace fs = std::filesystem;

static const size_t most_entries = 1000;

static fs::path history_path() {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state) return fs::path(state) / "llm/history";
    return home && *home ? fs::path(home) / ".local/state/llm/history" : fs::path();
}

static std::string escaped(const std::string &message) {
    std::string line;
    for (char c : message) {
        if (c == '\n')
            line += "\\n";
        else
            line += c == '\\' ? "\\\\" : std::string(1, c);
    }
    return line + '\n';
}

static std::string unescaped(const std::string &line) {
    std::string message;
    for (size_t i = 0; i < line.size(); i++) {
        bool escape = line[i] == '\\' && i + 1 < line.size();
        if (escape) i++;
        message += escape && line[i] == 'n' ? '\n' : line[i];
    }
    return message;
}

// Private, like the conversation itself: only the user may read it.
static bool write_lines(const fs::path &path, const std::string &lines, int how) {
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
    if (file < 0) return false;
    bool written = write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    return close(file) == 0 && written;
}

std::vector<std::string> history_read() {
    std::vector<std::string> entries;
    fs::path path = history_path();
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) entries.push_back(unescaped(line));
    if (entries.size() <= 2 * most_entries) return entries;
    entries.erase(entries.begin(), entries.end() - most_entries);
    std::string lines;
    for (const std::string &entry : entries) lines += escaped(entry);
    fs::path shorter = path.string() + "." + std::to_string(getpid());
    std::error_code error;
    if (write_lines(shorter, lines, O_TRUNC)) fs::rename(shorter, path, error);
    return entries;
}

void history_append(const std::string &message) {
    fs::path path = history_path();
    if (path.empty()) return;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    write_lines(path, escaped(message), O_APPEND);
}
