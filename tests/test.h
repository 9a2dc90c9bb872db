// Catch2 v2 and v3 behind one include, and what all tests share.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
#include <string>

// Folder of conformance data: LLM_TEST_DATA, else ../shared/data beside the source tree. Empty when it is not there;
// the first call then says so loudly on stderr.
std::string test_data();
// True when `folder` (below test_data()) is there; a test that needs it returns early otherwise, and the run's summary
// names what was left out.
bool have_test_data(const std::string &folder);
