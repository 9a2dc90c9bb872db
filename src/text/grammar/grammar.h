// Texts that a grammar allows, followed byte by byte while a model writes.
//
// A grammar is compiled to an automaton with a stack of returns (a recursive transition network; Woods 1970). What is
// possible after some bytes is a set of places with their stacks; such sets get a number when they are first met, and
// steps between them are remembered, so that following a text again is a table lookup a byte. The vocabulary is walked
// as a tree of bytes: all tokens of 128,000 are decided in about a millisecond once the steps are known.
//
// Limits: 200,000 places of a grammar, 4,096 places of a set, 32 MiB of remembered steps (then they are forgotten and
// found anew). What goes beyond is an error, never a wrong answer.
#pragma once
#include "core/status.h"
#include <memory>
#include <string_view>
#include <vector>

namespace llm {

struct grammar;
struct grammar_free {
    void operator()(grammar *g) const;
};
using grammar_handle = std::unique_ptr<grammar, grammar_free>;

// LLM_ERR_ARGUMENT: the grammar is wrong, with line and column; LLM_ERR_UNSUPPORTED: a keyword of a schema that cannot
// be enforced, by name.
llm_status grammar_from_gbnf(std::string_view text, grammar_handle *out, llm_error *err);
llm_status grammar_from_schema(std::string_view json, grammar_handle *out, llm_error *err);

// Follows texts of one grammar, which must outlive it. For one thread.
struct matcher;
struct matcher_free {
    void operator()(matcher *m) const;
};
using matcher_handle = std::unique_ptr<matcher, matcher_free>;
matcher_handle matcher_create(const grammar *g);

using match_state = uint32_t; // valid until the matcher forgets: only through matcher_* calls
void matcher_reset(matcher *m);
// False, and nothing changes, when the text cannot go on like this. *n_fit (may be NULL): bytes that could.
bool matcher_accept(matcher *m, std::string_view bytes, size_t *n_fit = nullptr);
bool matcher_allows(matcher *m, std::string_view bytes); // without going on
bool matcher_may_end(const matcher *m);
bool matcher_must_end(matcher *m); // no byte can follow
// The set of places became larger than the limit; the text counts as not allowed.
bool matcher_gave_up(const matcher *m);
// The only bytes that can follow, as far as there is no choice; at most `most`.
std::string matcher_forced(matcher *m, size_t most);

// The vocabulary as a tree of bytes, built once a model.
struct token_tree {
    struct node {
        uint32_t first_child, next, token; // 0: none; token: id + 1
        uint8_t byte;
    };
    std::vector<node> nodes;   // 0 is the root
    std::vector<int32_t> same; // chains of tokens with equal bytes: same[id] is another id, -1: none
};
void token_tree_add(token_tree *tree, std::string_view bytes, int32_t id);
// allowed[id] = 1 where the token's bytes can follow; tokens of no bytes are not allowed.
void matcher_mask(matcher *m, const token_tree *tree, std::vector<uint8_t> *allowed);

} // namespace llm
