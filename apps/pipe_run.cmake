add_library(pipe_run_parts STATIC pipe_run_launch.cpp pipe_run_options.cpp pipe_run_rehearse.cpp
                                  plan_comparison.cpp)
target_link_libraries(
  pipe_run_parts
  PUBLIC pipetrace::launcher pipetrace::runtime pipetrace::parser pipetrace::analysis CLI11::CLI11
         fmt::fmt
  PRIVATE pipetrace_flags)
target_compile_definitions(pipe_run_parts PRIVATE PIPETRACE_VERSION="${PROJECT_VERSION}")
pipetrace_program(pipe-run SOURCES pipe_run.cpp LINK pipe_run_parts)

pipetrace_test(
  rehearsal_test
  SOURCES plan_comparison_test.cpp rehearsal_test.cpp
  LINK pipe_run_parts
  LABELS runtime
  SERIAL)
pipetrace_test(
  pipe_run_test OWN_HEADERS
  SOURCES pipe_run_test.cpp program_run.cpp
  LINK pipetrace::trace
  LABELS runtime)
if(PIPETRACE_TESTS)
  add_dependencies(pipe_run_test pipe-run)
  target_compile_definitions(pipe_run_test PRIVATE PIPE_RUN_PROGRAM="$<TARGET_FILE:pipe-run>")
endif()
