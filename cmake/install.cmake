# make install PREFIX=...: tool, libraries, header, bundled model, and how other builds find them (pkg-config, CMake).
include(GNUInstallDirs)
install(TARGETS llm_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET llm_shared)
    install(TARGETS llm_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET llm_tool)
    install(TARGETS llm_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES include/llm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The tool looks for it in ../share/llm beside its own folder.
install(FILES models/libllm-chat-3m.gguf models/libllm-chat-3m.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/llm)

# Both files find everything from where they lie, so the installed tree can be moved.
file(RELATIVE_PATH LLM_PC_INCLUDE ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/libllm.pc.in ${CMAKE_BINARY_DIR}/libllm.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/libllm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/libllm-config.cmake.in ${CMAKE_BINARY_DIR}/libllm-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/libllm
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/libllm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/libllm-config.cmake ${CMAKE_BINARY_DIR}/libllm-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/libllm)
