pipetrace_program(
  pipe-view
  SOURCES pipe_view.cpp pipe_view_options.cpp
  LINK pipetrace::viewer CLI11::CLI11 fmt::fmt)
target_compile_definitions(pipe-view PRIVATE PIPETRACE_VERSION="${PROJECT_VERSION}")

pipetrace_test(
  pipe_view_test SANITIZED
  SOURCES pipe_view_test.cpp program_run.cpp
          "${PROJECT_SOURCE_DIR}/chart/test_logs.cpp"
          "${PROJECT_SOURCE_DIR}/chart/test_timelines.cpp"
  LINK pipetrace::trace)
if(TARGET pipe_view_test)
  add_dependencies(pipe_view_test pipe-view)
  target_compile_definitions(pipe_view_test PRIVATE PIPE_VIEW_PROGRAM="$<TARGET_FILE:pipe-view>")
endif()
