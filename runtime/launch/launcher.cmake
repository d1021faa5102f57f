# The launcher stands apart from the rest of runtime: it needs no LibTorch.
pipetrace_library(
  launcher
  SOURCES launch/child_process.cpp
          launch/display_queue.cpp
          launch/find_program.cpp
          launch/hosts/agent.cpp
          launch/hosts/agent_connection.cpp
          launch/hosts/descendants.cpp
          launch/hosts/file_tail.cpp
          launch/hosts/host_list.cpp
          launch/hosts/host_message.cpp
          launch/hosts/hosts_start.cpp
          launch/hosts/meeting_point.cpp
          launch/hosts/message_channel.cpp
          launch/hosts/remote_log.cpp
          launch/hosts/remote_ranks.cpp
          launch/launch_log_folder.cpp
          launch/launcher.cpp
          launch/local_port.cpp
          launch/local_ranks.cpp
          launch/rank_environment.cpp
          launch/rank_output.cpp
          launch/rank_process.cpp
          launch/ranks_display.cpp
          launch/signal_inbox.cpp
  PUBLIC pipetrace::trace pipetrace::profiler
  PRIVATE nlohmann_json::nlohmann_json)

pipetrace_test(
  launcher_test
  SOURCES launch/find_program_test.cpp launch/hosts/file_tail_test.cpp
          launch/hosts/host_list_test.cpp launch/hosts/message_channel_test.cpp
          launch/launch_log_folder_test.cpp launch/launcher_test.cpp
          launch/rank_environment_test.cpp launch/rank_output_test.cpp
  LINK pipetrace::launcher
  LABELS runtime)

# Other projects' launchers.
pipetrace_library(
  launchers
  SOURCES launch/launchers/launched_place.cpp launch/launchers/slurm_hosts.cpp
  PUBLIC pipetrace::trace)

pipetrace_test(
  launchers_test
  SOURCES launch/launchers/launched_place_test.cpp launch/launchers/slurm_hosts_test.cpp
  LINK pipetrace::launchers
  LABELS runtime)
