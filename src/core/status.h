// Status codes and the one-sentence error every fallible function fills in.
// The public list of codes lives in llm.h (LLM_STATUS_LIST); this header adds the helpers that internal code uses.
#pragma once
#include "llm.h"
#include <stddef.h>
#include <stdint.h>

namespace llm {

// Fills *err (which may be NULL) with `code` and a formatted sentence, and returns `code`, so that a failure reads
// `return fail(err, LLM_ERR_DAMAGED, "...", ...)`. The sentence names the culprit, what was expected and what was found.
// Text that does not fit is cut at a UTF-8 boundary.
llm_status fail(llm_error *err, llm_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

// As fail(), and appends the operating system's text for errno value `os_error`.
llm_status fail_os(llm_error *err, llm_status code, int os_error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void clear(llm_error *err);

#define LLM_TRY(expression)                                                                                            \
    do {                                                                                                               \
        llm_status status_ = (expression);                                                                             \
        if (status_ != LLM_OK) return status_;                                                                         \
    } while (0)

// Progress of long work. Return false to stop it; the work then ends with LLM_CANCELLED.
struct progress {
    bool (*step)(void *user, float fraction) = nullptr;
    void *user = nullptr;
};
inline bool go_on(const progress *p, float fraction) { return !p || !p->step || p->step(p->user, fraction); }

// Where the library's messages go: the callback of the object concerned, nowhere without one.
struct log_sink {
    llm_log_callback callback = nullptr;
    void *user = nullptr;
};
void log_line(const log_sink *sink, llm_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

} // namespace llm
