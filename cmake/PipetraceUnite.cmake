# PIPETRACE_UNITE, and fuzzers: the files of a library are compiled together.

# Files that are compiled as one see each other's file-local names.
target_compile_options(pipetrace_flags INTERFACE -Wno-shadow)

# Each library is compiled as two files, which takes a fraction of the time. Those that would clash
# with a file-local name of another are in the second.
set(PIPETRACE_SECOND_HALF
    # of parser
    growing_chrome_json job_log_reader json_splitter kineto_trace name_pattern natural_order
    perfetto_packets perfetto_reader perfetto_sequence pipeline_logger_reader straggler_trace
    # of analysis
    given_topology
    # of chart
    draw_labels row_layout
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
