# Unity builds: CMake compiles several files of a target as one, which saves four fifths of the time, because the headers
# of Asio cost more than our code. All files of a target then share one scope: a file whose local names clash with a
# neighbour's is listed here, and compiled apart. Better rename, and keep this list short.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile several files of a target as one")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

# Each source is included once, by one unity file, so types with members of its anonymous namespace are safe.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

set(CLOCHE_APART
  src/agent/files/operations/changes.cpp
  src/agent/files/operations/glob.cpp
  src/agent/files/operations/grep.cpp
  src/agent/reset/open_sockets.cpp
  src/agent/reset/reset.cpp
  src/agent/sealed_file.cpp
  src/agent/link/server_link.cpp
  src/api/files/routes.cpp
  src/api/runs/routes.cpp
  src/api/sessions/bodies.cpp
  src/api/sessions/routes.cpp
  src/auth/jwt/jwt.cpp
  src/auth/jwt/jwt_key.cpp
  src/auth/jwt/jwt_keys.cpp
  src/auth/quotas.cpp
  src/auth/quotas_test.cpp
  src/backend/docker/docker_backend_test.cpp
  src/backend/docker/engine/engine.cpp
  src/backend/docker/examine_test.cpp
  src/backend/docker/hardening_test.cpp
  src/backend/docker/engine/image_calls.cpp
  src/backend/docker/labels_test.cpp
  src/bench/alternatives/docker.cpp
  src/bench/alternatives/service_client.cpp
  src/bench/report/line_plot.cpp
  src/bench/scenarios/bulk.cpp
  src/bench/scenarios/crowd.cpp
  src/bench/scenarios/idle_memory.cpp
  src/bench/scenarios/many_sessions.cpp
  src/bench/scenarios/new_sandbox.cpp
  src/bench/system_calls.cpp
  src/cli/copy/upload.cpp
  src/cli/commands/run_command.cpp
  src/cli/commands/sessions_command.cpp
  src/cli/top/view_test.cpp
  src/config/sections/server_section.cpp
  src/config/service_config_test.cpp
  src/config/yaml_tree_test.cpp
  src/context/command.cpp
  src/context/shell_context.cpp
  src/http/server/server_exchange_test.cpp
  src/http/server/server_listen_test.cpp
  src/http/server/server_slow_test.cpp
  src/pool/manager.cpp
  src/runner/autograder/container.cpp
  src/runner/judge/interaction.cpp
  src/runner/autograder/one_shot.cpp
  src/runner/step_pool.cpp
  src/session/context_result.cpp
  src/session/runs/run_code.cpp
  tests/runner/compile_cases.cpp
  tests/runner/verdict_cases.cpp
  tests/sessions/run_cases.cpp
  tests/sessions/store_cases.cpp
)

# cloche_compile_apart(<source>…): those of them that are listed above.
function(cloche_compile_apart)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  foreach(source ${ARGN})
    if("${folder}/${source}" IN_LIST CLOCHE_APART)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
