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

# cloche_tests(<name> SOURCES … [LINK …] [ASYNC] [SYSTEM] [TIMEOUT …] [COST …] [FILTER …]): a GoogleTest program. Every
# case, or every case that passes the filter, is a ctest of its own.
#   SYSTEM: needs a runtime, an engine or a root filesystem; left out where only unit tests run.
#   COST: ctest starts tests in the order of it, the highest first. Programs with long cases have more than the others
#   with the label `system`, and unit tests have none: so short tests fill the end of a run.
function(cloche_tests name)
  if(NOT CLOCHE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "ASYNC;SYSTEM" "TIMEOUT;COST;FILTER" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
    if(ARG_SYSTEM)
      set(ARG_COST 2)
    endif()
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
  gtest_discover_tests(${name} TEST_PREFIX ${name}/ TEST_FILTER "${ARG_FILTER}" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST} LABELS ${label})
endfunction()

# cloche_fuzzer(<name> SOURCES … [LINK …]): fuzz/<name>.cpp for libFuzzer, its seeds in fuzz/corpus/<name>.
#   SOURCES: what is fuzzed, compiled again with the fuzzer, so that every line of it is instrumented.
# Builds with tests have the test seeds/<name> instead: the same program, run once for each seed.
function(cloche_fuzzer name)
  if(NOT CLOCHE_FUZZ AND NOT CLOCHE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  set(program ${name})
  if(NOT CLOCHE_FUZZ)
    set(program ${name}_seeds)
  endif()
  add_executable(${program} fuzz/${name}.cpp ${ARG_SOURCES})
  cloche_headers(${program})
  target_link_libraries(${program} PRIVATE ${ARG_LINK})
  if(CLOCHE_FUZZ)
    target_compile_options(${program} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer,address,undefined)
    return()
  endif()
  target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/run_seeds.cpp)
  set_property(GLOBAL APPEND PROPERTY CLOCHE_UNIT_TESTS ${program})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
  if(NOT EXISTS ${seeds})
    set(seeds)
  endif()
  add_test(NAME seeds/${name} COMMAND ${program} ${seeds})
  set_tests_properties(seeds/${name} PROPERTIES LABELS unit TIMEOUT 60)
endfunction()
