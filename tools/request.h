// One request of --jsonl: an object whose members are wanted as they stand there, so that numbers keep their digits.
#pragma once
#include <map>
#include <string>
#include <string_view>

struct request_member {
    std::string raw;  // the JSON text of the value
    std::string text; // of a string: its bytes
    bool is_string = false;
};
using request_members = std::map<std::string, request_member>;

// An empty sentence when the line is an object.
std::string parse_request(std::string_view line, request_members &members);
// NULL when there is none of that name.
const request_member *find_member(const request_members &members, const char *name);
