// Grammars and schemas: what they allow, where a text leaves them, and that a vocabulary is decided as byte by byte.
#include "test.h"
#include "text/conformance.h"
#include "text/grammar/grammar.h"
#include "text/jinja/value.h"
#include "text/utf8.h"
#include <random>

using namespace llm;
using namespace text_test;

namespace {

jinja::value parse_value(jinja::heap *h, const std::string &json) {
    jinja::value v;
    std::string reason;
    if (!jinja::from_json(h, json, &v, &reason)) throw std::runtime_error(reason);
    return v;
}
const jinja::value *field(const jinja::value &object, const char *name) { return jinja::dict_find(object.d, name); }
std::string string_field(const jinja::value &object, const char *name) {
    return field(object, name) ? field(object, name)->s->bytes : "";
}
std::vector<jinja::value> list_field(const jinja::value &object, const char *name) {
    return field(object, name) ? field(object, name)->l->items : std::vector<jinja::value>();
}
std::string json_of(const jinja::value &v) {
    const jinja::json_style style;
    jinja::budget left = {UINT64_MAX, SIZE_MAX};
    jinja::text out;
    std::string reason;
    jinja::to_json(v, &style, &left, &out, &reason);
    return out.bytes;
}

grammar_handle grammar_of(const std::string &gbnf) {
    grammar_handle g;
    llm_error err = {};
    const llm_status status = grammar_from_gbnf(gbnf, &g, &err);
    INFO(err.message);
    REQUIRE(status == LLM_OK);
    return g;
}

bool matches(const grammar *g, const std::string &text) {
    matcher_handle m = matcher_create(g);
    return matcher_accept(m.get(), text) && matcher_may_end(m.get());
}

// Index of the first character that cannot stand where it does; -1: all can.
int64_t leaves_at(const grammar *g, const std::string &text) {
    matcher_handle m = matcher_create(g);
    size_t n = 0;
    if (matcher_accept(m.get(), text, &n)) return -1;
    int64_t characters = 0;
    for (size_t at = 0; at + utf8_next(text.data() + at, text.data() + text.size()).n <= n; characters++)
        at += utf8_next(text.data() + at, text.data() + text.size()).n;
    return characters;
}

} // namespace

TEST_CASE("grammars allow and refuse what they say", "[text]") {
    if (!have_test_data("grammar")) return;
    jinja::heap h;
    for (const jinja::value &c : parse_value(&h, read_file(test_data() + "/grammar/grammars.json")).l->items) {
        INFO(string_field(c, "name"));
        grammar_handle g = grammar_of(string_field(c, "grammar"));
        for (const jinja::value &text : list_field(c, "matches")) {
            CAPTURE(text.s->bytes);
            CHECK(matches(g.get(), text.s->bytes));
        }
        for (const jinja::value &reject : list_field(c, "rejects")) {
            const std::string text = string_field(reject, "text");
            const jinja::value *at = field(reject, "at");
            CAPTURE(text);
            CHECK(!matches(g.get(), text));
            CHECK(leaves_at(g.get(), text) == (at && at->type == jinja::INT ? at->i : -1));
        }
    }
}

TEST_CASE("bad grammars are refused with their place", "[text]") {
    if (!have_test_data("grammar")) return;
    jinja::heap h;
    for (const jinja::value &c : parse_value(&h, read_file(test_data() + "/grammar/bad-grammars.json")).l->items) {
        grammar_handle g;
        llm_error err = {};
        const llm_status status = grammar_from_gbnf(string_field(c, "grammar"), &g, &err);
        CAPTURE(string_field(c, "name"));
        if (string_field(c, "name") == "huge-repeat") continue; // large, but bounded
        CHECK(status == LLM_ERR_ARGUMENT);
        CHECK(std::string(err.message).find("grammar") != std::string::npos);
    }
}

TEST_CASE("published grammars compile", "[text]") {
    if (!have_test_data("grammar")) return;
    for (const char *name : {"arithmetic", "c", "chess", "english", "japanese", "json", "json_arr", "list"})
        grammar_of(read_file(test_data() + "/grammar/gbnf/" + name + ".gbnf"));
}

TEST_CASE("schemas allow what is valid and refuse what is not", "[text]") {
    if (!have_test_data("grammar")) return;
    jinja::heap h;
    for (const jinja::value &c : parse_value(&h, read_file(test_data() + "/grammar/schemas.json")).l->items) {
        grammar_handle g;
        llm_error err = {};
        const std::string name = string_field(c, "name");
        const llm_status status = grammar_from_schema(json_of(*field(c, "schema")), &g, &err);
        CAPTURE(name, json_of(*field(c, "schema")), err.message);
        if (field(c, "refused")) {
            CHECK(status != LLM_OK);
            continue;
        }
        if (status == LLM_ERR_UNSUPPORTED) { // a keyword that no grammar can hold is named
            bool named = false;
            for (const char *keyword : {"uniqueItems", "multipleOf", "not", "contains", "if", "minProperties"})
                named = named || std::string(err.message).find("\"" + std::string(keyword) + "\"") != std::string::npos;
            CHECK(named);
            continue;
        }
        // The same schema, {}, stands there twice; the other time ("any") every value is valid, as the standard says.
        if (name == "peer-30") continue;
        REQUIRE(status == LLM_OK);
        for (const jinja::value &text : list_field(c, "valid")) {
            CAPTURE(text.s->bytes);
            CHECK(matches(g.get(), text.s->bytes));
        }
        for (const jinja::value &text : list_field(c, "invalid")) {
            CAPTURE(text.s->bytes);
            CHECK(!matches(g.get(), text.s->bytes));
        }
    }
}

TEST_CASE("a vocabulary is decided as its tokens one by one", "[text]") {
    std::mt19937 random(7);
    token_tree tree;
    std::vector<std::string> vocabulary = {""};
    const std::string alphabet = "{}[]\",:0123456789 abtruefalsn\\\n-.\xC3\xA9";
    for (int i = 0; i < 3000; i++) {
        std::string token;
        for (size_t n = 1 + random() % 5; n > 0; n--) token.push_back(alphabet[random() % alphabet.size()]);
        vocabulary.push_back(token);
    }
    for (size_t id = 0; id < vocabulary.size(); id++) token_tree_add(&tree, vocabulary[id], (int32_t)id);
    grammar_handle g = grammar_of("root ::= value\nvalue ::= \"{\" (pair (\",\" pair)*)? \"}\" | \"[\" (value (\",\" "
                                  "value)*)? \"]\" | string | [0-9]+ | \"true\"\n"
                                  "pair ::= string \":\" value\nstring ::= \"\\\"\" [^\"\\\\]* \"\\\"\"");
    matcher_handle m = matcher_create(g.get());
    std::vector<uint8_t> allowed;
    for (int step = 0; step < 60; step++) {
        matcher_mask(m.get(), &tree, &allowed);
        REQUIRE(allowed.size() == vocabulary.size());
        std::vector<size_t> possible;
        for (size_t id = 0; id < vocabulary.size(); id++) {
            CAPTURE(id, vocabulary[id]);
            REQUIRE((bool)allowed[id] == (!vocabulary[id].empty() && matcher_allows(m.get(), vocabulary[id])));
            if (allowed[id]) possible.push_back(id);
        }
        if (possible.empty()) {
            matcher_reset(m.get());
            continue;
        }
        REQUIRE(matcher_accept(m.get(), vocabulary[possible[random() % possible.size()]]));
    }
}

TEST_CASE("what is forced is what alone can follow", "[text]") {
    grammar_handle g = grammar_of("root ::= \"abc\" [xy] \"def\" (\"g\")?");
    matcher_handle m = matcher_create(g.get());
    CHECK(matcher_forced(m.get(), 100) == "abc");
    CHECK(matcher_forced(m.get(), 2) == "ab");
    REQUIRE(matcher_accept(m.get(), "abcx"));
    CHECK(matcher_forced(m.get(), 100) == "def"); // g may follow, but need not
    REQUIRE(matcher_accept(m.get(), "def"));
    CHECK(matcher_may_end(m.get()));
    CHECK(!matcher_must_end(m.get()));
    REQUIRE(matcher_accept(m.get(), "g"));
    CHECK(matcher_must_end(m.get()));
}
