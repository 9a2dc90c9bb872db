// A file that is removed when it is no longer needed, also when the program ends by a signal. One at a time.
#pragma once
#include <string>

std::string temporary_folder(); // TMPDIR, else /tmp

struct temporary_file {
    explicit temporary_file(const char *prefix);
    ~temporary_file();
    temporary_file(const temporary_file &) = delete;
    temporary_file &operator=(const temporary_file &) = delete;
    std::string path; // empty: could not be created
};
