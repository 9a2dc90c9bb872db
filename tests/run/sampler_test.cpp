// The sampler against brute force, and its randomness.
#include "core/top.h"
#include "run/library.h"
#include "run/sampler.h"
#include <algorithm>
#include <cmath>
#include <map>

using namespace llm_test;

namespace {

sampler_handle make_sampler(const llm_sampler_options &options) {
    llm_error err = {};
    llm_sampler *sampler = nullptr;
    expect_ok(llm_sampler_create(&options, &sampler, &err), err);
    return sampler_handle(sampler);
}
llm_sampler_options warm(uint64_t seed = 0) {
    llm_sampler_options o = {};
    o.temperature = 1;
    o.seed = seed;
    return o;
}
llm_token draw(llm_sampler *s, const std::vector<float> &logits, uint64_t position) {
    llm_error err = {};
    llm_token id = -1;
    expect_ok(llm_sampler_sample(s, logits.data(), logits.size(), position, &id, &err), err);
    return id;
}

std::vector<float> random_logits(size_t n, uint64_t seed, float spread = 4) {
    std::vector<float> out;
    for (size_t i = 0; i < n; i++) out.push_back((float)(llm::random_uniform(seed, i, 9) * 2 - 1) * spread);
    return out;
}

// Ids that may be drawn, by the definitions alone.
std::vector<llm_token> allowed(const std::vector<float> &logits, const llm_sampler_options &o) {
    std::vector<llm_token> order;
    for (size_t i = 0; i < logits.size(); i++) order.push_back((llm_token)i);
    std::stable_sort(order.begin(), order.end(),
                     [&](llm_token a, llm_token b) { return logits[(size_t)a] > logits[(size_t)b]; });
    if (o.top_k && o.top_k < order.size()) order.resize(o.top_k);
    std::vector<double> p;
    double total = 0, sum = 0;
    for (llm_token id : order) p.push_back(std::exp((double)logits[(size_t)id] - (double)logits[(size_t)order[0]]));
    for (double x : p) total += x;
    size_t n = 0;
    if (o.top_p > 0 && o.top_p < 1)
        while (n < order.size() && sum < (double)o.top_p * total) sum += p[n++];
    else
        n = order.size();
    while (o.min_p > 0 && n > 1 && p[n - 1] < (double)o.min_p) n--;
    order.resize(n);
    return order;
}

// Draws many times and checks the counts against the probabilities; chi-square by Wilson and Hilferty's normal form.
void check_draws(const std::vector<float> &logits, const llm_sampler_options &o, int n_draws) {
    sampler_handle s = make_sampler(o);
    std::map<llm_token, int> counts;
    for (int i = 0; i < n_draws; i++) counts[draw(s.get(), logits, (uint64_t)i)]++;
    std::vector<llm_token> ids_allowed = allowed(logits, o);
    double total = 0, chi2 = 0, rest_expected = 0, rest = 0;
    int cells = 0, n_allowed = 0;
    for (llm_token id : ids_allowed) total += std::exp((double)logits[(size_t)id] / (double)o.temperature);
    for (llm_token id : ids_allowed) {
        double expected = std::exp((double)logits[(size_t)id] / (double)o.temperature) / total * n_draws,
               n = counts[id];
        n_allowed += (int)n;
        if (expected < 10) {
            rest_expected += expected;
            rest += n;
            continue;
        }
        chi2 += (n - expected) * (n - expected) / expected;
        cells++;
    }
    if (rest_expected > 10) chi2 += (rest - rest_expected) * (rest - rest_expected) / rest_expected, cells++;
    CAPTURE(o.top_k, o.top_p, o.min_p, o.temperature, o.seed, cells, chi2);
    CHECK(n_allowed == n_draws);
    if (cells < 2) return;
    double k = cells - 1, z = (std::cbrt(chi2 / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
    CHECK(std::fabs(z) < 4);
}

} // namespace

TEST_CASE("temperature 0 takes the best logit, of equals the smallest id", "[sampler]") {
    sampler_handle s = make_sampler({});
    CHECK(draw(s.get(), {1, 3, 3, 2, 3}, 0) == 1);
    CHECK(draw(s.get(), {0.f, -0.f}, 0) == 0);
    CHECK(draw(s.get(), {-INFINITY, -5, -INFINITY}, 0) == 1);
    const llm_candidate some[] = {{9, 2.f}, {4, 3.f}, {7, 3.f}, {2, 3.f}};
    llm_token id;
    CHECK(llm_sampler_sample_candidates(s.get(), some, 4, 0, &id, nullptr) == LLM_OK);
    CHECK(id == 2);
}

TEST_CASE("truncations leave what their definitions leave, with its probabilities", "[sampler]") {
    std::vector<float> logits = random_logits(300, 1);
    uint64_t seed = 1;
    for (uint32_t top_k : {0u, 1u, 5u, 100u})
        for (float top_p : {0.f, 0.3f, 0.9f})
            for (float min_p : {0.f, 0.1f, 0.9f}) {
                llm_sampler_options o = warm(seed++);
                o.top_k = top_k;
                o.top_p = top_p;
                o.min_p = min_p;
                check_draws(logits, o, 4000);
            }
    for (float temperature : {0.3f, 2.f}) {
        llm_sampler_options o = warm(99);
        o.temperature = temperature;
        o.top_p = 0.95f;
        check_draws(logits, o, 20000);
    }
}

TEST_CASE("the candidates of the best logits alone are drawn as all logits are", "[sampler]") {
    std::vector<float> logits = random_logits(300, 2);
    llm_sampler_options o = warm(5);
    o.top_k = 20;
    o.temperature = 0.7f;
    sampler_handle s = make_sampler(o);
    std::vector<llm_candidate> best;
    for (llm_token id : allowed(logits, o)) best.push_back({id, logits[(size_t)id]});
    std::reverse(best.begin(), best.end());
    for (uint64_t position = 0; position < 200; position++) {
        llm_token id = -1;
        REQUIRE(llm_sampler_sample_candidates(s.get(), best.data(), best.size(), position, &id, nullptr) == LLM_OK);
        CHECK(id == draw(s.get(), logits, position));
    }
}

TEST_CASE("seed and position alone decide a draw", "[sampler]") {
    std::vector<float> logits = random_logits(300, 3, 1);
    sampler_handle a = make_sampler(warm(7)), b = make_sampler(warm(7)), other = make_sampler(warm(8));
    int differing = 0;
    for (uint64_t i = 0; i < 100; i++) {
        llm_token first = draw(a.get(), logits, i);
        draw(b.get(), logits, 1000 + i); // what was drawn before does not matter
        CHECK(draw(b.get(), logits, i) == first);
        CHECK(draw(a.get(), logits, i) == first);
        differing += draw(other.get(), logits, i) != first;
    }
    CHECK(differing > 80);
}

TEST_CASE("random numbers keep their values", "[sampler]") {
    // Texts of a seed depend on these bits; a second program (Python) gives the same.
    struct known {
        uint64_t seed, position, draw;
        double value;
    };
    const known values[] = {
        {0ull, 0ull, 0, 0x1.d23bf32c8ea0dp-1},
        {1ull, 0ull, 0, 0x1.2656d414aeed4p-3},
        {0ull, 1ull, 0, 0x1.a2dc1e7389eb7p-1},
        {0ull, 0ull, 1, 0x1.3b8591cea4a19p-1},
        {42ull, 100ull, 0, 0x1.17b4252f55caap-1},
        {18446744073709551615ull, 18446744073709551615ull, 3, 0x1.00ce004f1502p-3},
    };
    for (const known &k : values) CHECK(llm::random_uniform(k.seed, k.position, k.draw) == k.value);
    double sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double u = llm::random_uniform(1, i, 0);
        REQUIRE((u >= 0 && u < 1));
        sum += u;
    }
    CHECK(std::fabs(sum / 10000 - 0.5) < 4 * 0.2887 / 100);
}

TEST_CASE("penalties count the recent tokens of their window", "[sampler]") {
    llm_sampler_options o = {};
    o.repeat_penalty = 2;
    sampler_handle s = make_sampler(o);
    llm_sampler_accept(s.get(), 0, nullptr);
    CHECK(draw(s.get(), {3, 2, 1}, 0) == 1);       // 1.5, 2
    CHECK(draw(s.get(), {-1, -1.5f, -9}, 0) == 1); // -2, -1.5
    llm_sampler_reset(s.get());
    CHECK(draw(s.get(), {3, 2, 1}, 0) == 0);

    o = {};
    o.frequency_penalty = 0.4f;
    o.presence_penalty = 0.3f;
    o.penalty_window = 3;
    s = make_sampler(o);
    for (llm_token id : {0, 0}) llm_sampler_accept(s.get(), id, nullptr);
    CHECK(draw(s.get(), {3, 1.95f}, 0) == 1); // 3 - 0.8 - 0.3 = 1.9
    CHECK(draw(s.get(), {3, 1.85f}, 0) == 0);
    for (llm_token id : {5, 5}) llm_sampler_accept(s.get(), id, nullptr); // one 0 has left the window of three
    CHECK(draw(s.get(), {3, 2.25f}, 0) == 0);                             // 3 - 0.4 - 0.3 = 2.3
    CHECK(draw(s.get(), {3, 2.35f}, 0) == 1);
    llm_sampler_accept(s.get(), 5, nullptr);
    CHECK(draw(s.get(), {3, 2.9f}, 0) == 0);
    const llm_candidate some[] = {{9, 3.f}, {5, 4.f}}; // 4 - 1.2 - 0.3 = 2.5
    llm_token id;
    CHECK(llm_sampler_sample_candidates(s.get(), some, 2, 0, &id, nullptr) == LLM_OK);
    CHECK(id == 9);
    llm_sampler_accept(s.get(), 1 << 30, nullptr); // no token of these logits
    CHECK(draw(s.get(), {3, 2.9f}, 0) == 0);
}

TEST_CASE("an option out of range is named", "[sampler]") {
    struct bad {
        const char *name;
        float llm_sampler_options::*field;
        std::vector<float> values;
    };
    const bad all[] = {{"temperature", &llm_sampler_options::temperature, {-1, 101, NAN, INFINITY}},
                       {"top_p", &llm_sampler_options::top_p, {-0.1f, 1.1f, NAN}},
                       {"min_p", &llm_sampler_options::min_p, {-0.1f, 1.1f, NAN}},
                       {"repeat_penalty", &llm_sampler_options::repeat_penalty, {-1, NAN}},
                       {"frequency_penalty", &llm_sampler_options::frequency_penalty, {-101, 101, NAN}},
                       {"presence_penalty", &llm_sampler_options::presence_penalty, {-101, 101, NAN}}};
    for (const bad &b : all)
        for (float value : b.values) {
            llm_sampler_options o = {};
            o.*b.field = value;
            llm_sampler *out = nullptr;
            llm_error err = {};
            CAPTURE(b.name, value);
            CHECK(llm_sampler_create(&o, &out, &err) == LLM_ERR_ARGUMENT);
            CHECK(out == nullptr);
            CHECK(std::string(err.message).find(b.name) == 0);
        }
}

TEST_CASE("logits that are no numbers are refused", "[sampler]") {
    for (float temperature : {0.f, 1.f}) {
        llm_sampler_options o = {};
        o.temperature = temperature;
        sampler_handle s = make_sampler(o);
        llm_token id = 77;
        for (const std::vector<float> &logits :
             {std::vector<float>{1, NAN, 2}, {-INFINITY, -INFINITY}, {1, INFINITY}}) {
            CHECK(llm_sampler_sample(s.get(), logits.data(), logits.size(), 0, &id, nullptr) == LLM_ERR_NUMERIC);
            CHECK(id == 77);
        }
    }
}

TEST_CASE("as many of the best candidates as a chain needs decide like all of them", "[sampler]") {
    const llm_sampler_options plain = {};
    std::vector<llm_sampler_options> chains(6, plain);
    chains[1].repeat_penalty = 1.3f;
    chains[2] = warm(4);
    chains[2].top_k = 8;
    chains[3] = chains[2];
    chains[3].repeat_penalty = 1.5f;
    chains[3].presence_penalty = 0.5f;
    chains[3].penalty_window = 20;
    chains[3].top_p = 0.9f;
    chains[4] = chains[3];
    chains[4].frequency_penalty = -0.5f; // raises logits: nothing short of all is enough
    chains[5] = warm(4);
    for (const llm_sampler_options &o : chains) {
        llm::sampler s;
        REQUIRE(llm::sampler_init(&s, &o, nullptr) == LLM_OK);
        CHECK((llm::sampler_needs(&s) == 0) == (&o >= &chains[4]));
        for (uint64_t position = 0; position < 300; position++) {
            std::vector<float> logits = random_logits(200, 1000 + position, 2);
            for (float &x : logits) x = std::round(x * 4) / 4; // ties
            llm_token whole = -1, some = -1;
            REQUIRE(llm::sampler_sample(&s, logits.data(), logits.size(), position, &whole, nullptr) == LLM_OK);
            const uint32_t k = llm::sampler_needs(&s) ? llm::sampler_needs(&s) : 200;
            std::vector<llm_candidate> best(k);
            llm::top_list list = {best.data(), 0, k};
            llm::top_offer(&list, 0, logits.data(), 100);
            llm::top_offer(&list, 100, logits.data() + 100, 100);
            llm::top_sort(&list);
            REQUIRE(llm::sampler_sample_candidates(&s, best.data(), list.n, position, &some, nullptr) == LLM_OK);
            CAPTURE(&o - chains.data(), position);
            CHECK(some == whole);
            llm::sampler_accept(&s, whole);
        }
    }
}
