#include "terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

// A signal handler has no other way to its data than statics.
static termios modes_before, modes_now;
static volatile sig_atomic_t taken;
static int wake_pipe[2] = {-1, -1};

// 2004: pasted text arrives between ESC [ 200 ~ and ESC [ 201 ~. 2027: a grapheme cluster takes one place, where the
// terminal knows that mode; others ignore it.
static const char modes_on[] = "\x1b[?2004h\x1b[?2027h";
static const char modes_off[] = "\x1b[?2004l\x1b[?2027l";

static void write_all(const char *text, size_t n) {
    while (n > 0) {
        ssize_t written = write(STDOUT_FILENO, text, n);
        if (written < 0 && errno != EINTR) return;
        if (written > 0) {
            text += written;
            n -= static_cast<size_t>(written);
        }
    }
}

void terminal_restore() {
    if (!taken) return;
    write_all(modes_off, sizeof modes_off - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
}

void terminal_end() {
    terminal_restore();
    taken = 0;
}

static void on_fatal(int number) {
    terminal_restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void wake() {
    int error = errno;
    char byte = 0;
    (void)!write(wake_pipe[1], &byte, 1);
    errno = error;
}

static void on_resize(int) { wake(); }

static void on_continue(int) {
    if (!taken) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &modes_now);
    write_all(modes_on, sizeof modes_on - 1);
    wake();
}

static void set_handler(int number, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
}

static void on_stop(int) { terminal_suspend(); }

void terminal_suspend() {
    int error = errno;
    terminal_restore();
    signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr); // inside its own handler the signal is blocked until here
    set_handler(SIGTSTP, on_stop);
    on_continue(SIGCONT); // also where nothing could stop the program: no shell with job control above it
    errno = error;
}

static bool is_plain_terminal() {
    const char *name = getenv("TERM");
    return !name || !*name || strcmp(name, "dumb") == 0;
}

bool terminal_begin() {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || is_plain_terminal()) return false;
    if (tcgetattr(STDIN_FILENO, &modes_before) != 0 || pipe(wake_pipe) != 0) return false;
    for (int end : wake_pipe) {
        fcntl(end, F_SETFL, O_NONBLOCK);
        fcntl(end, F_SETFD, FD_CLOEXEC);
    }
    static const int fatal[] = {SIGTERM, SIGHUP, SIGQUIT, SIGINT};
    for (int number : fatal) set_handler(number, on_fatal);
    set_handler(SIGWINCH, on_resize);
    set_handler(SIGCONT, on_continue);
    set_handler(SIGTSTP, on_stop);
    modes_now = modes_before;
    taken = 1;
    atexit(terminal_end);
    terminal_keys(key_mode::wait);
    write_all(modes_on, sizeof modes_on - 1);
    return true;
}

void terminal_keys(key_mode mode) {
    termios modes = modes_before;
    modes.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN);
    modes.c_lflag |= NOFLSH; // what was typed ahead outlives a Ctrl-C that stops an answer
    if (mode == key_mode::edit) modes.c_lflag &= ~static_cast<tcflag_t>(ISIG);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    modes_now = modes;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_now);
}

terminal_size terminal_get_size() {
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {80, 24};
    return {size.ws_col, size.ws_row ? size.ws_row : 24u};
}

terminal_input terminal_read(std::string &bytes, int timeout_ms) {
    pollfd inputs[2] = {{STDIN_FILENO, POLLIN, 0}, {wake_pipe[0], POLLIN, 0}};
    int ready = poll(inputs, 2, timeout_ms);
    if (ready < 0) return errno == EINTR ? terminal_input::redraw : terminal_input::closed;
    if (ready == 0) return terminal_input::timeout;
    char part[4096];
    if (inputs[1].revents) {
        while (read(wake_pipe[0], part, sizeof part) > 0) continue;
        return terminal_input::redraw;
    }
    ssize_t n = read(STDIN_FILENO, part, sizeof part);
    if (n <= 0) return n < 0 && errno == EINTR ? terminal_input::redraw : terminal_input::closed;
    bytes.assign(part, static_cast<size_t>(n));
    return terminal_input::bytes;
}

uint32_t terminal_waiting() {
    int n = 0;
    return ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0 ? static_cast<uint32_t>(n) : 0;
}

void terminal_write(const std::string &text) {
    fflush(stdout);
    write_all(text.data(), text.size());
}
