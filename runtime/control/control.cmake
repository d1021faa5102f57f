# The control channel stands apart from the rest of runtime: it needs no LibTorch.
pipetrace_library(
  control
  FROM "^control/"
  PUBLIC pipetrace::trace Threads::Threads)

if(PIPETRACE_TESTS)
  pipetrace_program(control_ring SOURCES control/testing/control_ring.cpp
                                         control/testing/file_key_value.cpp LINK pipetrace::control)
endif()
# Ranks as threads, also under ThreadSanitizer.
pipetrace_test(
  control_threads_test SANITIZED
  SOURCES control/control_mesh_test.cpp control/local_control_test.cpp
          control/start/connect_ranks_test.cpp
          control/start/same_run_test.cpp
  LINK pipetrace::control
  LABELS threads)
# Ranks as processes that are killed and stopped.
pipetrace_test(
  control_processes_test SANITIZED
  SOURCES control/control_processes_test.cpp control/testing/ring_run.cpp
  LINK pipetrace::control pipetrace::launcher
  LABELS runtime)
if(TARGET control_processes_test)
  add_dependencies(control_processes_test control_ring)
endif()

pipetrace_test(
  control_test SANITIZED
  FROM "^control/"
  LINK pipetrace::control
  LABELS runtime)
if(TARGET control_ring)
  pipetrace_program(control_bench SOURCES bench/control_bench.cpp control/testing/ring_run.cpp
                    LINK pipetrace::control pipetrace::launcher pipetrace_test_folders)
  add_dependencies(control_bench control_ring)
endif()
