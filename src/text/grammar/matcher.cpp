#include "text/grammar/automaton.h"
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace llm {

namespace {

constexpr size_t MAX_SET = 4096;                    // places of a state
constexpr size_t MAX_REMEMBERED = (size_t)32 << 20; // bytes of states and steps
constexpr uint32_t DEAD = 0, UNKNOWN = UINT32_MAX;
constexpr uint32_t EMPTY_STACK = 0;

// A place to go on at, with the returns that are open. Stacks are shared: one is a return on top of another.
struct position {
    uint32_t at, stack;
    bool operator<(const position &o) const { return at != o.at ? at < o.at : stack < o.stack; }
    bool operator==(const position &o) const { return at == o.at && stack == o.stack; }
};
struct open_return {
    uint32_t to, below;
};

// Everything that may follow some text: only PLACE_BYTE positions, sorted.
struct state {
    std::vector<position> positions;
    bool may_end = false;
    std::unique_ptr<uint32_t[]> step; // [256] states; made when first needed
};

struct set_hash {
    size_t operator()(const std::vector<position> &set) const {
        uint64_t h = 1469598103934665603ull;
        for (const position &p : set) h = (h ^ ((uint64_t)p.at << 32 | p.stack)) * 1099511628211ull;
        return (size_t)(h ^ h >> 29);
    }
};

} // namespace

struct matcher {
    const grammar *g;
    std::vector<open_return> stacks;                 // [EMPTY_STACK] is a placeholder
    std::unordered_map<uint64_t, uint32_t> stack_of; // (to, below)
    std::vector<state> states;                       // [DEAD]
    std::unordered_map<std::vector<position>, std::vector<uint32_t>, set_hash> state_of; // may_end: two of a set
    uint32_t now = DEAD;
    size_t remembered = 0;
    bool gave_up = false;
    std::vector<position> todo, found; // scratch of a closure
    std::vector<uint32_t> seen_at;     // scratch
};

namespace {

uint32_t push(matcher *m, uint32_t to, uint32_t below) {
    // A call that ends its rule needs no return of its own: what it would return to returns at once. So repetition by
    // recursion at the end keeps the stack as it is.
    if (m->g->places[to].kind == PLACE_RETURN) return below;
    const uint64_t key = (uint64_t)to << 32 | below;
    auto known = m->stack_of.find(key);
    if (known != m->stack_of.end()) return known->second;
    m->stacks.push_back({to, below});
    m->remembered += 64;
    return m->stack_of[key] = (uint32_t)m->stacks.size() - 1;
}

// Follows everything that reads no byte. False when there is too much of it.
bool close_over(matcher *m, bool *may_end) {
    std::vector<position> &todo = m->todo, &found = m->found;
    std::map<position, bool> seen;
    found.clear();
    while (!todo.empty()) {
        const position p = todo.back();
        todo.pop_back();
        if (!seen.emplace(p, true).second) continue;
        if (seen.size() > 8 * MAX_SET || found.size() > MAX_SET) return false;
        const place &at = m->g->places[p.at];
        switch (at.kind) {
        case PLACE_BYTE: found.push_back(p); break;
        case PLACE_SPLIT:
            todo.push_back({at.next, p.stack});
            todo.push_back({at.other, p.stack});
            break;
        case PLACE_CALL: todo.push_back({m->g->rule_start[at.other], push(m, at.next, p.stack)}); break;
        case PLACE_RETURN:
            if (p.stack == EMPTY_STACK)
                *may_end = true;
            else
                todo.push_back({m->stacks[p.stack].to, m->stacks[p.stack].below});
            break;
        }
    }
    std::sort(found.begin(), found.end());
    return true;
}

// The state of m->todo.
uint32_t intern(matcher *m) {
    bool may_end = false;
    if (!close_over(m, &may_end)) {
        m->todo.clear();
        m->gave_up = true;
        return DEAD;
    }
    if (m->found.empty() && !may_end) return DEAD;
    std::vector<uint32_t> &same = m->state_of[m->found];
    for (uint32_t s : same)
        if (m->states[s].may_end == may_end) return s;
    state made;
    made.positions = m->found;
    made.may_end = may_end;
    m->states.push_back(std::move(made));
    m->remembered += 2 * m->found.size() * sizeof(position) + 200;
    same.push_back((uint32_t)m->states.size() - 1);
    return (uint32_t)m->states.size() - 1;
}

uint32_t step(matcher *m, uint32_t from, uint8_t byte) {
    if (from == DEAD) return DEAD;
    if (!m->states[from].step) {
        m->states[from].step.reset(new uint32_t[256]);
        std::fill_n(m->states[from].step.get(), 256, UNKNOWN);
        m->remembered += 1024;
    }
    const uint32_t known = m->states[from].step[byte];
    if (known != UNKNOWN) return known;
    m->todo.clear();
    for (const position &p : m->states[from].positions) {
        const place &at = m->g->places[p.at];
        if (byte >= at.low && byte <= at.high) m->todo.push_back({at.next, p.stack});
    }
    const uint32_t to = m->todo.empty() ? DEAD : intern(m);
    return m->states[from].step[byte] = to;
}

void start(matcher *m) {
    m->states.clear();
    m->states.emplace_back(); // DEAD
    m->state_of.clear();
    m->stacks.assign(1, {0, 0});
    m->stack_of.clear();
    m->remembered = 0;
}

// Keeps the present state alone, its stacks copied over.
void forget(matcher *m) {
    const std::vector<open_return> old = m->stacks;
    const std::vector<position> positions = m->states[m->now].positions;
    const bool may_end = m->states[m->now].may_end;
    start(m);
    std::vector<position> moved;
    for (position p : positions) {
        std::vector<uint32_t> returns;
        for (uint32_t s = p.stack; s != EMPTY_STACK; s = old[s].below) returns.push_back(old[s].to);
        uint32_t stack = EMPTY_STACK;
        while (!returns.empty()) {
            stack = push(m, returns.back(), stack);
            returns.pop_back();
        }
        moved.push_back({p.at, stack});
    }
    m->todo = moved;
    m->now = intern(m);
    m->states[m->now].may_end = may_end;
}

uint32_t walk(matcher *m, std::string_view bytes, size_t *n) {
    uint32_t at = m->now;
    for (*n = 0; *n < bytes.size(); ++*n) {
        const uint32_t next = step(m, at, (uint8_t)bytes[*n]);
        if (next == DEAD) return DEAD;
        at = next;
    }
    return at;
}

} // namespace

matcher_handle matcher_create(const grammar *g) {
    matcher_handle m(new matcher);
    m->g = g;
    start(m.get());
    matcher_reset(m.get());
    return m;
}
void matcher_free::operator()(matcher *m) const { delete m; }

void matcher_reset(matcher *m) {
    if (m->remembered > MAX_REMEMBERED) start(m);
    m->gave_up = false;
    m->todo.assign(1, {m->g->rule_start[m->g->root], EMPTY_STACK});
    m->now = intern(m);
}

bool matcher_accept(matcher *m, std::string_view bytes, size_t *n_fit) {
    if (m->remembered > MAX_REMEMBERED && m->now != DEAD) forget(m);
    size_t n;
    const uint32_t to = walk(m, bytes, &n);
    if (n_fit) *n_fit = n;
    if (n < bytes.size()) return false;
    m->now = to;
    return true;
}

bool matcher_allows(matcher *m, std::string_view bytes) {
    size_t n;
    walk(m, bytes, &n);
    return n == bytes.size();
}

bool matcher_may_end(const matcher *m) { return m->now != DEAD && m->states[m->now].may_end; }
bool matcher_must_end(matcher *m) { return m->states[m->now].positions.empty(); }
bool matcher_gave_up(const matcher *m) { return m->gave_up; }

std::string matcher_forced(matcher *m, size_t most) {
    std::string forced;
    for (uint32_t at = m->now; forced.size() < most && at != DEAD && !m->states[at].may_end;) {
        int only = -1;
        for (const position &p : m->states[at].positions) {
            const place &b = m->g->places[p.at];
            if (b.low != b.high || (only >= 0 && only != b.low)) return forced;
            only = b.low;
        }
        if (only < 0) break;
        forced.push_back((char)only);
        at = step(m, at, (uint8_t)only);
    }
    return forced;
}

void token_tree_add(token_tree *tree, std::string_view bytes, int32_t id) {
    if (tree->nodes.empty()) tree->nodes.push_back({0, 0, 0, 0});
    if (tree->same.size() <= (size_t)id) tree->same.resize((size_t)id + 1, -1);
    uint32_t at = 0;
    for (char c : bytes) {
        uint32_t child = tree->nodes[at].first_child;
        while (child && tree->nodes[child].byte != (uint8_t)c) child = tree->nodes[child].next;
        if (!child) {
            child = (uint32_t)tree->nodes.size();
            tree->nodes.push_back({0, tree->nodes[at].first_child, 0, (uint8_t)c});
            tree->nodes[at].first_child = child;
        }
        at = child;
    }
    if (at == 0) return;
    tree->same[(size_t)id] = tree->nodes[at].token ? (int32_t)tree->nodes[at].token - 1 : -1;
    tree->nodes[at].token = (uint32_t)id + 1;
}

void matcher_mask(matcher *m, const token_tree *tree, std::vector<uint8_t> *allowed) {
    if (m->remembered > MAX_REMEMBERED && m->now != DEAD) forget(m);
    allowed->assign(tree->same.size(), 0);
    if (tree->nodes.empty() || m->now == DEAD) return;
    // Depth first; the stack is as deep as the longest token.
    std::vector<std::pair<uint32_t, uint32_t>> open = {{tree->nodes[0].first_child, m->now}};
    while (!open.empty()) {
        const uint32_t node = open.back().first, from = open.back().second;
        if (!node) {
            open.pop_back();
            continue;
        }
        const token_tree::node &n = tree->nodes[node];
        open.back().first = n.next;
        const uint32_t to = step(m, from, n.byte);
        if (to == DEAD) continue;
        for (int32_t id = (int32_t)n.token - 1; id >= 0; id = tree->same[(size_t)id]) (*allowed)[(size_t)id] = 1;
        if (n.first_child) open.push_back({n.first_child, to});
    }
}

} // namespace llm
