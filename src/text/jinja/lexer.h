// Template text to tokens. White space is cut here, so that the parser sees output as it must be printed.
#pragma once
#include "text/jinja/jinja.h"
#include <deque>

namespace llm {
namespace jinja {

enum token_kind : uint8_t {
    TOKEN_END,
    TOKEN_DATA,        // text between tags
    TOKEN_BLOCK_BEGIN, // {%
    TOKEN_BLOCK_END,
    TOKEN_PRINT_BEGIN, // {{
    TOKEN_PRINT_END,
    TOKEN_NAME,
    TOKEN_STRING, // bytes: the value, escapes resolved
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_OPERATOR
};

struct token {
    token_kind kind;
    std::string bytes;
    jinja_place at;
};

struct syntax_error {
    std::string message;
    jinja_place at;
};

// False: *error says why.
bool tokenise(std::string_view source, std::vector<token> *out, syntax_error *error);

} // namespace jinja
} // namespace llm
