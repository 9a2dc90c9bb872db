// Upper and lower case of whole texts, with the characters that become several.
#pragma once
#include "text/jinja/value.h"

namespace llm {
namespace jinja {

enum case_form : uint8_t { CASE_LOWER, CASE_UPPER, CASE_TITLE, CASE_CAPITAL, CASE_SWAPPED, CASE_FOLDED };
text with_case(const text &s, case_form form);

} // namespace jinja
} // namespace llm
