#include "interrupt.h"
#include "terminal.h"
#include <atomic>
#include <unistd.h>

static std::atomic<llm_context *> busy_context;
static std::atomic<llm_chat *> busy_chat;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int) {
    interrupted = interrupted + 1;
    if (interrupted >= 3) {
        terminal_restore();
        _exit(130);
    }
    if (llm_context *context = busy_context) llm_cancel(context);
    if (llm_chat *chat = busy_chat) llm_chat_cancel(chat);
}

static void install(struct sigaction &before) {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &before);
}

interruptible::interruptible(llm_context *context) {
    busy_context = context;
    install(before);
}

interruptible::interruptible(llm_chat *chat) {
    busy_chat = chat;
    install(before);
}

interruptible::~interruptible() {
    busy_context = nullptr;
    busy_chat = nullptr;
    sigaction(SIGINT, &before, nullptr);
}

bool was_interrupted() { return interrupted != 0; }
