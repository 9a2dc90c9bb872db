// Ctrl-C while the library works: the first one stops the work; the third ends the program at once.
#pragma once
#include "llm.h"
#include <signal.h>

// While an object of this type lives, SIGINT cancels what the context (or chat) is doing. One at a time.
struct interruptible {
    explicit interruptible(llm_context *context);
    explicit interruptible(llm_chat *chat);
    ~interruptible();
    interruptible(const interruptible &) = delete;
    interruptible &operator=(const interruptible &) = delete;
    struct sigaction before;
};
bool was_interrupted(); // since the latest `interruptible` began
