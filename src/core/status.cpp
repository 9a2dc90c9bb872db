#include "core/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace llm {

static void cut_at_character(char *text, size_t capacity) {
    size_t n = strnlen(text, capacity);
    if (n + 1 < capacity) return;
    size_t start = n;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (start > 0 && (unsigned char)text[start - 1] >= 0xC0) text[start - 1] = 0;
}

static void write_message(llm_error *err, llm_status code, const char *format, va_list arguments) {
    err->code = code;
    vsnprintf(err->message, sizeof err->message, format, arguments);
    cut_at_character(err->message, sizeof err->message);
}

llm_status fail(llm_error *err, llm_status code, const char *format, ...) {
    if (err) {
        va_list arguments;
        va_start(arguments, format);
        write_message(err, code, format, arguments);
        va_end(arguments);
    }
    return code;
}

llm_status fail_os(llm_error *err, llm_status code, int os_error, const char *format, ...) {
    if (err) {
        va_list arguments;
        va_start(arguments, format);
        write_message(err, code, format, arguments);
        va_end(arguments);
        size_t n = strlen(err->message);
        snprintf(err->message + n, sizeof err->message - n, ": %s", strerror(os_error));
    }
    return code;
}

void clear(llm_error *err) {
    if (!err) return;
    err->code = LLM_OK;
    err->message[0] = 0;
}

void log_line(const log_sink *sink, llm_log_level level, const char *format, ...) {
    if (!sink || !sink->callback) return;
    char line[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sink->callback(sink->user, level, line);
}

} // namespace llm
