# One library a folder, its tests beside it.

# Ours are found from src/ and, those that users see, from include/.
function(cloche_headers target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                              $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# cloche_library(<name> SOURCES … [PUBLIC …] [PRIVATE …] [ASYNC])
#   PUBLIC, PRIVATE: libraries it links. ASYNC: uses coroutines, and so the precompiled Asio headers.
function(cloche_library name)
  cmake_parse_arguments(ARG "ASYNC" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(cloche_${name} STATIC ${ARG_SOURCES})
  cloche_compile_apart(${ARG_SOURCES})
  cloche_headers(cloche_${name})
  target_link_libraries(cloche_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  if(ARG_ASYNC)
    target_link_libraries(cloche_${name} PUBLIC cloche_async)
    target_precompile_headers(cloche_${name} REUSE_FROM cloche_async)
  endif()
endfunction()

# cloche_tests(<name> SOURCES … [LINK …] [ASYNC] [SYSTEM]): a GoogleTest program, every case a ctest of its own.
#   SYSTEM: needs a runtime, an engine or a root filesystem; left out where only unit tests run.
function(cloche_tests name)
  if(NOT CLOCHE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "ASYNC;SYSTEM" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(label unit)
  if(ARG_SYSTEM)
    set(label system)
  endif()
  if(NOT ARG_SYSTEM)
    set_property(GLOBAL APPEND PROPERTY CLOCHE_UNIT_TESTS ${name})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  cloche_compile_apart(${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} cloche_missing GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_ASYNC)
    target_link_libraries(${name} PRIVATE cloche_async)
    target_precompile_headers(${name} REUSE_FROM cloche_async)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}/ DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS ${label})
endfunction()

# cloche_fuzzer(<name> SOURCES … [LINK …]): fuzz/<name>.cpp for libFuzzer, its seeds in fuzz/corpus/<name>.
#   SOURCES: what is fuzzed, compiled again with the fuzzer, so that every line of it is instrumented.
function(cloche_fuzzer name)
  if(NOT CLOCHE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} fuzz/${name}.cpp ${ARG_SOURCES})
  cloche_headers(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
endfunction()
