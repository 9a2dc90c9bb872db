// JSON on stdout: one object a line. A thin layer over RapidJSON's writer that keeps every line well-formed.
#pragma once
#include "llm.h"
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <stdint.h>
#include <string>
#include <string_view>
#include <type_traits>

using json_writer = rapidjson::Writer<rapidjson::StringBuffer>;

// Text that may hold any bytes: what is not UTF-8 becomes U+FFFD.
void json_value(json_writer &json, std::string_view text);
// Not-a-number and infinities become null; four significant decimals are enough for what we measure.
void json_value(json_writer &json, double number);
inline void json_value(json_writer &json, const char *text) { json_value(json, std::string_view(text)); }
inline void json_value(json_writer &json, const std::string &text) { json_value(json, std::string_view(text)); }
inline void json_value(json_writer &json, bool value) { json.Bool(value); }
inline void json_value(json_writer &json, std::nullptr_t) { json.Null(); }
template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
void json_value(json_writer &json, Integer value) {
    if constexpr (std::is_signed_v<Integer>)
        json.Int64(value);
    else
        json.Uint64(value);
}
template <typename Value> void json_field(json_writer &json, const char *key, const Value &value) {
    json.Key(key);
    json_value(json, value);
}
template <typename List> void json_list(json_writer &json, const char *key, const List &list) {
    json.Key(key);
    json.StartArray();
    for (const auto &value : list) json_value(json, value);
    json.EndArray();
}

// Bytes as a string where they are UTF-8, else as {"hex": "e4bd"}.
void json_bytes(json_writer &json, std::string_view bytes);

// {"prompt", "cached", "generated", "used", "context", "prompt_s", "generate_s"}: tokens and seconds of one call.
void json_usage(json_writer &json, const llm_result &result);

// One object: `fill` writes its fields, then the line goes to stdout at once.
void print_json_line(const rapidjson::StringBuffer &line);
template <typename Fill> void print_json(Fill fill) {
    rapidjson::StringBuffer buffer;
    json_writer json(buffer);
    json.StartObject();
    fill(json);
    json.EndObject();
    print_json_line(buffer);
}
