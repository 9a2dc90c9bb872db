#include "temporary_file.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// For the signal handler: the file, and what the library writes before it becomes the file.
static char current_path[4096], unfinished_path[4096 + 4];

static void on_fatal(int number) {
    unlink(current_path);
    unlink(unfinished_path);
    signal(number, SIG_DFL);
    raise(number);
}

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};

std::string temporary_folder() {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

temporary_file::temporary_file(const char *prefix) {
    std::string name = temporary_folder() + "/" + prefix + "-XXXXXX";
    if (name.size() >= sizeof current_path) return;
    int file = mkstemp(&name[0]);
    if (file < 0) return;
    close(file);
    path = name;
    snprintf(current_path, sizeof current_path, "%s", name.c_str());
    snprintf(unfinished_path, sizeof unfinished_path, "%s.tmp", name.c_str());
    for (int number : fatal) signal(number, on_fatal);
}

temporary_file::~temporary_file() {
    if (path.empty()) return;
    for (int number : fatal) signal(number, SIG_DFL);
    unlink(path.c_str());
}
