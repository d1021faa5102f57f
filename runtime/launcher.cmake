# The launcher stands apart from the rest of runtime: it needs no LibTorch.
pipetrace_library(
  launcher
  SOURCES display_queue.cpp
          find_program.cpp
          launch_log_folder.cpp
          launcher.cpp
          local_port.cpp
          rank_environment.cpp
          rank_output.cpp
          rank_process.cpp
          signal_inbox.cpp
  PUBLIC pipetrace::trace pipetrace::profiler)

pipetrace_test(
  launcher_test
  SOURCES find_program_test.cpp launch_log_folder_test.cpp launcher_test.cpp rank_output_test.cpp
  LINK pipetrace::launcher
  LABELS runtime)
