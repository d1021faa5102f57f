pipetrace_program(
  pipe-trace
  SOURCES command_line.cpp
          completions.cpp
          flag_table.cpp
          foreign_options.cpp
          help_formatter.cpp
          large_json.cpp
          load_run.cpp
          load_run_options.cpp
          pipe_trace.cpp
          pipe_trace_commands.cpp
          man_page.cpp
          pipe_trace_completions.cpp
          pipe_trace_follow.cpp
          pipe_trace_info.cpp
          pipe_trace_open.cpp
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
          profiler_lines.cpp
          progress_bar.cpp
          run_follower.cpp
          terminal.cpp
          trace_server.cpp
          write_profiles.cpp
  LINK pipetrace::parser pipetrace::analysis pipetrace::chart CLI11::CLI11 fmt::fmt
       PkgConfig::HTTPLIB)
target_compile_definitions(pipe-trace PRIVATE PIPETRACE_VERSION="${PROJECT_VERSION}")

pipetrace_test(
  pipe_trace_test SANITIZED
  SOURCES pipe_trace_errors_test.cpp
          pipe_trace_damage_test.cpp
          pipe_trace_follow_test.cpp
          pipe_trace_gone_test.cpp
          pipe_trace_open_test.cpp
          pipe_trace_shell_test.cpp
          progress_bar.cpp
          progress_bar_test.cpp
          pipe_trace_foreign_test.cpp
          pipe_trace_formats_test.cpp
          pipe_trace_info_test.cpp
          pipe_trace_paddle_test.cpp
          pipe_trace_plan_errors_test.cpp
          pipe_trace_plan_files_test.cpp
          pipe_trace_plan_test.cpp
          pipe_trace_selection_test.cpp
          pipe_trace_show_test.cpp
          pipe_trace_test.cpp
          program_run.cpp
  LINK pipetrace::trace pipetrace::schedule nlohmann_json::nlohmann_json fmt::fmt
       PkgConfig::HTTPLIB)
if(TARGET pipe_trace_test)
  add_dependencies(pipe_trace_test pipe-trace)
  target_compile_definitions(pipe_trace_test PRIVATE PIPE_TRACE_PROGRAM="$<TARGET_FILE:pipe-trace>")
endif()
if(PIPETRACE_TESTS)
  # The pictures and the table of docs/schedules.md are those of the program as it is.
  add_test(NAME schedule_pictures_test
           COMMAND bash "${PROJECT_SOURCE_DIR}/tools/schedule_pictures.sh" --check
                   "$<TARGET_FILE:pipe-trace>")
endif()
