# PIPETRACE_UNITE compiles the files of a library, a program or a test together; fuzzers do so with
# libraries.

# Files that are compiled as one see each other's file-local names, and g++ takes them for headers.
target_compile_options(pipetrace_flags INTERFACE -Wno-shadow
                                                 $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

# A library or program is compiled as two files, which takes a fraction of the time. The second
# holds those that would clash with a file-local name in the first.
set(PIPETRACE_SECOND_HALF
    analysis/topology/given_topology.cpp
    chart/draw/draw_labels.cpp
    chart/row_layout.cpp
    parser/chrome/write/growing_json.cpp
    parser/find_logs.cpp
    parser/foreign/kineto_trace.cpp
    parser/foreign/logs/pipeline_logger_reader.cpp
    parser/foreign/names/name_pattern.cpp
    parser/foreign/straggler_trace.cpp
    parser/job_log/job_log_reader.cpp
    parser/json/json_splitter.cpp
    parser/perfetto/packets.cpp
    parser/perfetto/reader.cpp
    parser/perfetto/sequence.cpp
    schedule/check/weight_versions.cpp
    schedule/file/schedule_reader.cpp
    schedule/simulate/simulate.cpp
    trace/sockets/process_sockets.cpp)

# pipetrace_unite(TARGET): called by pipetrace_library and pipetrace_program.
function(pipetrace_unite TARGET)
  get_target_property(sources ${TARGET} SOURCES)
  foreach(source ${sources})
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    set(half first)
    if(path IN_LIST PIPETRACE_SECOND_HALF)
      set(half second)
    endif()
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${half})
  endforeach()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# pipetrace_unite_tests(TEST): called by pipetrace_test. Six files at a time: more would be compiled
# by one core while others wait.
function(pipetrace_unite_tests TEST)
  set_target_properties(${TEST} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endfunction()
