// Command-line options as tables: a command lists rows, parse_options fills the targets and answers --help.
// Only options.cpp includes CLI11, which costs seconds of compile time a file.
#pragma once
#include "command.h"
#include <array>
#include <optional>
#include <stdint.h>
#include <string>
#include <variant>
#include <vector>

// A number of bytes on the command line: 512M, 2G, 1.5GiB or plain bytes.
struct byte_size {
    uint64_t bytes = 0;
};

// Numbers separated by commas or spaces.
using number_list = std::vector<int32_t>;

// An option with two values.
using string_pair = std::array<std::string, 2>;

using option_target = std::variant<bool *, std::string *, std::optional<std::string> *, uint32_t *, uint64_t *, float *,
                                   std::optional<uint64_t> *, std::optional<float> *, std::vector<std::string> *,
                                   number_list *, string_pair *, byte_size *>;

struct option_row {
    const char *names; // "-m,--model"; without a dash: a positional argument, also as one of several names
    option_target target;
    const char *value; // what the help calls the value; "" for switches
    const char *help;  // the default is written here
};
using option_table = std::vector<option_row>;

// Nothing when the command is to go on; else the exit status (help was shown, or the usage was wrong).
std::optional<int> parse_options(const command &self, const option_table &rows, int argc, char **argv);

// A sentence about wrong usage on stderr; returns EXIT_USAGE.
int usage_error(const command &self, const std::string &sentence);
