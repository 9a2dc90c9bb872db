# make            builds build/llm, build/libllm.a, build/libllm.so
# make run        opens a chat with the default model (fetched once)
# make test       builds and runs the fast tests
# make config=asan|ubsan|tsan|debug [test]   the same in build-<config>
config ?= release
build := $(if $(filter release,$(config)),build,build-$(config))
flags_release :=
flags_debug := -DCMAKE_BUILD_TYPE=Debug
flags_asan := -DLLM_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
flags_ubsan := -DLLM_SANITIZE=undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
flags_tsan := -DLLM_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
jobs ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all run test clean
all:
	@command -v cmake >/dev/null || { echo "make: cmake is missing; \`sh tools/setup.sh\` installs what is needed" >&2; exit 1; }
	@test -f $(build)/Makefile || cmake -S . -B $(build) $(flags_$(config)) $(cmake_flags) >/dev/null
	@cmake --build $(build) -j $(jobs)

run: all
	@sh models/get.sh || true
	@exec $(build)/llm chat

test:
	@command -v cmake >/dev/null || { echo "make: cmake is missing; \`sh tools/setup.sh\` installs what is needed" >&2; exit 1; }
	@cmake -S . -B $(build) -DLLM_BUILD_TESTS=ON $(flags_$(config)) $(cmake_flags) >/dev/null
	@cmake --build $(build) -j $(jobs)
	@cd $(build) && ctest -L fast --output-on-failure

clean:
	rm -rf $(build)
