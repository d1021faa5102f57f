pipetrace_program(
  pipe-trace
  SOURCES command_line.cpp
          help_formatter.cpp
          load_run.cpp
          pipe_trace.cpp
          pipe_trace_commands.cpp
          pipe_trace_options.cpp
          pipe_trace_outputs.cpp
          pipe_trace_paddle.cpp
          pipe_trace_plan.cpp
          pipe_trace_plan_options.cpp
          pipe_trace_run.cpp
          pipe_trace_show.cpp
          plan_costs.cpp
          plan_outputs.cpp
          plan_source.cpp
          print_diagnostics.cpp
          profile_format.cpp
          terminal.cpp
  LINK pipetrace::parser pipetrace::analysis pipetrace::chart CLI11::CLI11 fmt::fmt)
target_compile_definitions(pipe-trace PRIVATE PIPETRACE_VERSION="${PROJECT_VERSION}")

pipetrace_test(
  pipe_trace_test
  SOURCES pipe_trace_errors_test.cpp
          pipe_trace_formats_test.cpp
          pipe_trace_paddle_test.cpp
          pipe_trace_plan_errors_test.cpp
          pipe_trace_plan_files_test.cpp
          pipe_trace_plan_test.cpp
          pipe_trace_show_test.cpp
          pipe_trace_test.cpp
          program_run.cpp
  LINK pipetrace::trace pipetrace::schedule nlohmann_json::nlohmann_json)
if(PIPETRACE_TESTS)
  add_dependencies(pipe_trace_test pipe-trace)
  target_compile_definitions(pipe_trace_test PRIVATE PIPE_TRACE_PROGRAM="$<TARGET_FILE:pipe-trace>")
  # The pictures and the table of docs/schedules.md are those of the program as it is.
  add_test(NAME schedule_pictures_test
           COMMAND bash "${PROJECT_SOURCE_DIR}/tools/schedule_pictures.sh" --check
                   "$<TARGET_FILE:pipe-trace>")
endif()
