#include "json.h"
#include "text.h"
#include <cmath>
#include <stdio.h>

void json_value(json_writer &json, std::string_view text) {
    std::string good = repaired(text);
    json.String(good.data(), static_cast<rapidjson::SizeType>(good.size()));
}

void json_value(json_writer &json, double number) {
    if (!std::isfinite(number)) {
        json.Null();
        return;
    }
    char text[40];
    int length = snprintf(text, sizeof text, std::fabs(number) < 1000 ? "%.4g" : "%.1f", number);
    json.RawValue(text, static_cast<size_t>(length), rapidjson::kNumberType);
}

void json_bytes(json_writer &json, std::string_view bytes) {
    if (repaired(bytes) == bytes) {
        json_value(json, bytes);
        return;
    }
    std::string hex;
    for (unsigned char byte : bytes) {
        static const char digits[] = "0123456789abcdef";
        hex += digits[byte >> 4];
        hex += digits[byte & 15];
    }
    json.StartObject();
    json_field(json, "hex", hex);
    json.EndObject();
}

void json_usage(json_writer &json, const llm_result &result) {
    json.StartObject();
    json_field(json, "prompt", result.n_prompt);
    json_field(json, "cached", result.n_cached);
    json_field(json, "generated", result.n_generated);
    json_field(json, "used", result.n_used);
    json_field(json, "context", result.n_ctx);
    json_field(json, "prompt_s", result.prompt_seconds);
    json_field(json, "generate_s", result.generate_seconds);
    json.EndObject();
}

void print_json_line(const rapidjson::StringBuffer &line) {
    fwrite(line.GetString(), 1, line.GetSize(), stdout);
    fputc('\n', stdout);
    fflush(stdout);
}
