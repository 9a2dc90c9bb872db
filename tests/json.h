// JSON files of expected results.
#pragma once
#include "temporary.h"
#include <rapidjson/document.h>
#include <stdexcept>
#include <string.h>
#include <vector>

inline rapidjson::Document read_json(const std::string &path) {
    rapidjson::Document document;
    std::string text = read_bytes(path);
    document.Parse(text.c_str(), text.size());
    if (document.HasParseError()) throw std::runtime_error("no JSON: " + path);
    return document;
}

inline std::vector<int32_t> json_ids(const rapidjson::Value &array) {
    std::vector<int32_t> ids;
    for (const rapidjson::Value &v : array.GetArray()) ids.push_back(v.GetInt());
    return ids;
}

// Raw little-endian float32.
inline std::vector<float> read_floats(const std::string &path) {
    std::string bytes = read_bytes(path);
    std::vector<float> values(bytes.size() / 4);
    if (!values.empty()) memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
}
