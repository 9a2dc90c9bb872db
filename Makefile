# make                builds build/llm, build/libllm.a and build/libllm.so
# make run            opens a chat with the default model (fetched once), else with the bundled one
# make test           builds and runs the fast tests
# make arm64          builds library and tests for arm64 and runs what must be the same bits there, in an emulator
# make install        installs below PREFIX (/usr/local); DESTDIR is put before it
# make clean          removes the build folder
# config=asan|ubsan|tsan|debug builds and tests in build-<config>; jobs=N compiles N files at once;
# cmake_flags="-D..." goes to cmake
config ?= release
jobs ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

flags_release := -DCMAKE_BUILD_TYPE=Release
flags_debug := -DCMAKE_BUILD_TYPE=Debug
flags_asan := -DLLM_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
flags_ubsan := -DLLM_SANITIZE=undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
flags_tsan := -DLLM_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
ifndef flags_$(config)
$(error config=$(config) is unknown; there are release, debug, asan, ubsan and tsan)
endif
build := $(if $(filter release,$(config)),build,build-$(config))

# cmake runs a make of its own: this one's flags are not for it.
run_cmake := MAKEFLAGS=--no-print-directory cmake
have_cmake = @command -v cmake >/dev/null || \
	{ echo "make: missing: cmake (or more); \`sh tools/setup.sh\` installs what is needed" >&2; exit 1; }
configure = $(run_cmake) -G "Unix Makefiles" -S . -B $(build) $(flags_$(config)) $(cmake_flags) >/dev/null

.PHONY: all run test arm64 install clean
all:
	$(have_cmake)
	@grep -qs '^product:' $(build)/Makefile || $(configure)
	@$(run_cmake) --build $(build) -j $(jobs) --target product

# Without a terminal it asks three questions and ends. Leaving by Ctrl-C is no failure.
run: all
	@sh models/get.sh >/dev/null || echo "make run: the bundled model (models/libllm-chat-3m.gguf, 3 million" \
		"parameters, a demonstration) answers instead of the default one" >&2
	@if [ -t 0 ] && [ -t 1 ]; then $(build)/llm chat || [ $$? = 130 ]; else $(build)/llm chat --demo; fi

test:
	$(have_cmake)
	@$(configure) -DLLM_BUILD_TESTS=ON
	@$(run_cmake) --build $(build) -j $(jobs)
	@cd $(build) && ctest -L fast --output-on-failure $(ctest_flags)

arm64:
	$(have_cmake)
	@test -f build-arm64/deps/complete || { echo "make arm64: missing: arm64 libraries;" \
		"\`sh tools/setup.sh arm64\` fetches them" >&2; exit 1; }
	@$(run_cmake) -G "Unix Makefiles" -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake \
		-DLLM_BUILD_TESTS=ON -DLLM_BUILD_TOOL=OFF $(cmake_flags) >/dev/null
	@$(run_cmake) --build build-arm64 -j $(jobs) --target llm_static llm_shared llm_tests
	@cd build-arm64 && ctest -L arm64 --output-on-failure $(ctest_flags)

install: all
	@$(run_cmake) --install $(build) --prefix "$(abspath $(PREFIX))"

clean:
	rm -rf $(build)
