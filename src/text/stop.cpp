#include "text/stop.h"

namespace llm {

using node = stop_matcher::node;

static int32_t find_child(const stop_matcher *m, int32_t at, uint8_t byte) {
    int32_t child = m->nodes[size_t(at)].first_child;
    while (child >= 0 && m->nodes[size_t(child)].byte != byte) child = m->nodes[size_t(child)].sibling;
    return child;
}

static void add_path(stop_matcher *m, int32_t stop) {
    int32_t at = 0;
    for (char c : m->stops[size_t(stop)]) {
        int32_t child = find_child(m, at, uint8_t(c));
        if (child < 0) {
            child = int32_t(m->nodes.size());
            node n;
            n.sibling = m->nodes[size_t(at)].first_child;
            n.stop = stop;
            n.depth = m->nodes[size_t(at)].depth + 1;
            n.byte = uint8_t(c);
            m->nodes[size_t(at)].first_child = child;
            m->nodes.push_back(n);
        }
        at = child;
    }
    if (at > 0 && m->nodes[size_t(at)].fires < 0) m->nodes[size_t(at)].fires = stop; // of equal stops the first
}

static int32_t next_state(const stop_matcher *m, int32_t at, uint8_t byte) {
    for (;;) {
        int32_t child = find_child(m, at, byte);
        if (child >= 0) return child;
        if (at == 0) return 0;
        at = m->nodes[size_t(at)].fail;
    }
}

// Breadth first: a node's fail link is shallower than itself, so it is ready before.
static void link_suffixes(stop_matcher *m) {
    std::vector<int32_t> queue{0};
    for (size_t i = 0; i < queue.size(); i++) {
        int32_t parent = queue[i];
        for (int32_t c = m->nodes[size_t(parent)].first_child; c >= 0; c = m->nodes[size_t(c)].sibling) {
            node &child = m->nodes[size_t(c)];
            child.fail = parent == 0 ? 0 : next_state(m, m->nodes[size_t(parent)].fail, child.byte);
            if (child.fires < 0) child.fires = m->nodes[size_t(child.fail)].fires;
            queue.push_back(c);
        }
    }
}

void stop_matcher_init(stop_matcher *m, const std::string_view *stops, size_t n) {
    *m = stop_matcher();
    m->nodes.push_back({});
    for (size_t i = 0; i < n; i++) {
        m->stops.emplace_back(stops[i]);
        add_path(m, int32_t(i));
    }
    link_suffixes(m);
}

void stop_matcher_reset(stop_matcher *m) {
    m->state = 0;
    m->fired = -1;
}

// The first `n` bytes of the path to a node.
static std::string_view path(const stop_matcher *m, int32_t at, size_t n) {
    if (n == 0) return {}; // the root belongs to no stop
    return std::string_view(m->stops[size_t(m->nodes[size_t(at)].stop)]).substr(0, n);
}

int32_t stop_matcher_add(stop_matcher *m, std::string_view bytes, std::string *out) {
    if (m->fired >= 0 || m->stops.empty()) {
        if (m->fired < 0) out->append(bytes);
        return m->fired;
    }
    for (char c : bytes) {
        int32_t before = m->state;
        m->state = next_state(m, before, uint8_t(c));
        const node &now = m->nodes[size_t(m->state)];
        size_t held = m->nodes[size_t(before)].depth + 1; // the path before and this byte; now.depth of them stay
        if (now.depth == 0) {
            out->append(path(m, before, held - 1));
            out->push_back(c);
        } else {
            out->append(path(m, before, held - now.depth));
        }
        if (now.fires < 0) continue;
        m->fired = now.fires;
        out->append(path(m, m->state, now.depth - m->stops[size_t(now.fires)].size()));
        break;
    }
    return m->fired;
}

void stop_matcher_finish(stop_matcher *m, std::string *out) {
    if (m->fired < 0 && !m->nodes.empty()) out->append(path(m, m->state, m->nodes[size_t(m->state)].depth));
    m->state = 0;
}

} // namespace llm
