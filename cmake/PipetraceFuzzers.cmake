# PIPETRACE_FUZZERS: the library itself has to be built for a fuzzer to see which lines an input
# reaches, so a build with fuzzers is one of its own (tools/fuzz.sh).
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "PIPETRACE_FUZZERS=ON needs clang: apt-get install clang-16, and configure "
                      "with -DCMAKE_CXX_COMPILER=clang++-16")
endif()
add_custom_target(fuzzers) # all of them
# What these find ends a program anyway, or AddressSanitizer finds it, and they are much of the code.
target_compile_options(pipetrace_flags INTERFACE -fno-sanitize=null,vptr,object-size)
# Files that are compiled as one see each other's file-local names.
target_compile_options(pipetrace_flags INTERFACE -Wno-shadow)

# Each library is compiled as two files, which takes a fraction of the time. Those that would clash
# with a file-local name of another are in the second.
set(PIPETRACE_SECOND_HALF
    # of parser
    growing_chrome_json job_log_reader json_splitter kineto_trace name_pattern natural_order
    perfetto_packets perfetto_reader perfetto_sequence pipeline_logger_reader straggler_trace
    # of schedule
    schedule_reader simulate weight_versions)

# pipetrace_unite(LIBRARY): called by pipetrace_library.
function(pipetrace_unite LIBRARY)
  get_target_property(sources ${LIBRARY} SOURCES)
  foreach(source ${sources})
    get_filename_component(name "${source}" NAME_WE)
    set(half first)
    if(name IN_LIST PIPETRACE_SECOND_HALF)
      set(half second)
    endif()
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${half})
  endforeach()
  set_target_properties(${LIBRARY} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# pipetrace_fuzzer(NAME ENTRY SOURCES ... LINK ...): program fuzz_NAME, which gives each input to
# ENTRY, a function of fuzz/targets.h.
function(pipetrace_fuzzer NAME ENTRY)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  pipetrace_program(fuzz_${NAME} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK})
  target_compile_definitions(fuzz_${NAME} PRIVATE PIPETRACE_FUZZ_ENTRY=${ENTRY})
  target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${NAME})
endfunction()
