# The control channel stands apart from the rest of runtime: it needs no LibTorch.
pipetrace_library(
  control
  SOURCES control/control_mesh.cpp
          control/verdict/beat.cpp
          control/verdict/control_message.cpp
          control/control_peers.cpp
          control/control_socket.cpp
          control/verdict/find_stall.cpp
          control/verdict/first_cause.cpp
          control/verdict/hearing.cpp
          control/verdict/host_ranks.cpp
          control/verdict/jury.cpp
          control/local_control.cpp
          control/run_end.cpp
          control/control_relay.cpp
          control/start/links.cpp
          control/start/meeting.cpp
          control/start/open_files.cpp
          control/start/run_start.cpp
          control/start/same_run.cpp
          control/verdict/stall_watch.cpp
          control/verdict/verdict.cpp
  PUBLIC pipetrace::trace Threads::Threads)

if(PIPETRACE_TESTS)
  pipetrace_program(control_ring SOURCES control/testing/control_ring.cpp
                                         control/testing/file_key_value.cpp LINK pipetrace::control)
endif()
pipetrace_test(
  control_test
  SOURCES control/verdict/beat_test.cpp
          control/verdict/control_message_test.cpp
          control/verdict/find_stall_test.cpp
          control/verdict/hearing_test.cpp
          control/verdict/host_ranks_test.cpp
          control/verdict/jury_hosts_test.cpp
          control/verdict/jury_silence_test.cpp
          control/verdict/jury_test.cpp
          control/verdict/verdict_test.cpp
          control/control_relay_test.cpp
          control/run_end_test.cpp
          control/verdict/action_progress_test.cpp
          control/verdict/idle_watch_test.cpp
          control/start/links_test.cpp
  LINK pipetrace::control
  LABELS runtime)
# Ranks as threads, also under ThreadSanitizer.
pipetrace_test(
  control_threads_test
  SOURCES control/control_mesh_test.cpp control/local_control_test.cpp
          control/start/meeting_test.cpp
          control/start/same_run_test.cpp
  LINK pipetrace::control
  LABELS threads)
# Ranks as processes that are killed and stopped.
pipetrace_test(
  control_processes_test
  SOURCES control/control_processes_test.cpp control/testing/ring_run.cpp
  LINK pipetrace::control pipetrace::launcher
  LABELS runtime)
if(TARGET control_processes_test)
  add_dependencies(control_processes_test control_ring)
  target_compile_definitions(control_processes_test
                             PRIVATE CONTROL_RING="$<TARGET_FILE:control_ring>")
endif()

if(TARGET control_ring)
  pipetrace_program(control_bench SOURCES bench/control_bench.cpp control/testing/ring_run.cpp
                    LINK pipetrace::control pipetrace::launcher)
  add_dependencies(control_bench control_ring)
  target_compile_definitions(control_bench PRIVATE CONTROL_RING="$<TARGET_FILE:control_ring>")
endif()
