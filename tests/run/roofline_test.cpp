// The machine's limits are positive, and costs of a loaded model are those of its shape.
#include "test.h"
#include "backend/backend.h"
#include "temporary.h"

using namespace llm;

TEST_CASE("the roofline of every tier", "[roofline]") {
    for (const backend *const *b = backend_table(); *b; b++) {
        if (!(*b)->available()) continue;
        INFO((*b)->name);
        llm_roofline out = {};
        out.size = sizeof out;
        llm_error err = {};
        REQUIRE(llm_roofline_measure((*b)->name, 1, &out, &err) == LLM_OK);
        CHECK(out.n_threads == 1);
        CHECK(out.read_gbps > 0.1);
        CHECK((out.dot_gmacs > 0.1 || std::string((*b)->name) == "ref"));
    }
    llm_roofline out = {};
    CHECK(llm_roofline_measure("none", 1, &out, nullptr) == LLM_ERR_UNSUPPORTED);
    CHECK(llm_roofline_measure(nullptr, 5000, &out, nullptr) == LLM_ERR_ARGUMENT);
}

TEST_CASE("costs of a loaded model are those of its shape", "[roofline]") {
    for (const char *shape : {"stories-15m", "tiny-256"}) {
        INFO(shape);
        temporary_folder folder;
        llm_model *model = nullptr;
        llm_cost loaded = {}, expected = {};
        loaded.size = expected.size = sizeof loaded;
        REQUIRE(llm_synth(shape, "Q4_0", 1, (folder / "m").c_str(), nullptr, nullptr, nullptr) == LLM_OK);
        REQUIRE(llm_model_load((folder / "m").c_str(), nullptr, &model, nullptr) == LLM_OK);
        REQUIRE(llm_model_get_cost(model, &loaded, nullptr) == LLM_OK);
        llm_model_free(model);
        REQUIRE(llm_shape_get_cost(shape, "Q4_0", &expected, nullptr) == LLM_OK);
        CHECK(loaded.n_params == expected.n_params);
        CHECK(loaded.weight_bytes == expected.weight_bytes);
        CHECK(loaded.token_bytes == expected.token_bytes);
        CHECK(loaded.layer_macs == expected.layer_macs);
        CHECK(loaded.head_macs == expected.head_macs);
        CHECK(loaded.kv_bytes == expected.kv_bytes);
        CHECK(loaded.kv_window_bytes == expected.kv_window_bytes);
        CHECK(loaded.n_window == expected.n_window);
    }
}
