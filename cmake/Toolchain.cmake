# Language, warnings, sanitizers and ccache, for every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Not CMake's own switch: it compiles programs otherwise than libraries, and the precompiled header serves both.
add_compile_options(-fPIC -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Quick to compile, quick enough to run, assertions on, line numbers in backtraces.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_C_FLAGS_DEV "-O1 -g1")
set(CMAKE_EXE_LINKER_FLAGS_DEV "")
# Every level above -O1 doubles what the compiler does; a first look at Cloche need not wait for that.
set(CMAKE_CXX_FLAGS_QUICK "-O1 -DNDEBUG")
set(CMAKE_C_FLAGS_QUICK "-O1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Known false alarms of g++ 12, on std::string inserts and on coroutine frames.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete> -Wno-array-bounds -Wno-restrict -Wno-stringop-overread -Wno-stringop-overflow -Wno-dangling-pointer -Wno-maybe-uninitialized)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
if(CLOCHE_SANITIZE)
  # Undefined behaviour ends the program, because a message in the output of a passing test would go unnoticed.
  add_compile_options(-fsanitize=${CLOCHE_SANITIZE} -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CLOCHE_SANITIZE})
  if(CLOCHE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # Asio's fences, which it cannot see through
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Without this sloppiness ccache refuses to work with precompiled headers. The two other variables, and paths that begin
  # at the root of the repository, let all clones of it share what was compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
