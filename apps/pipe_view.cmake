pipetrace_program(
  pipe-view
  SOURCES pipe_view.cpp pipe_view_options.cpp
  LINK pipetrace::viewer CLI11::CLI11 fmt::fmt)
target_compile_definitions(pipe-view PRIVATE PIPETRACE_VERSION="${PROJECT_VERSION}")
install(TARGETS pipe-view)
