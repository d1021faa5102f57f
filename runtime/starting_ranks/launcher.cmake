# The launcher stands apart from the rest of runtime: it needs no LibTorch. These do.
set(launch_with_torch starting_ranks/process_env.cpp starting_ranks/stop_signal.cpp)
set(launch_tests_with_torch starting_ranks/process_env_test.cpp starting_ranks/stop_signal_test.cpp)
pipetrace_take(${launch_with_torch} ${launch_tests_with_torch})
pipetrace_library(
  launcher
  FROM "^starting_ranks/(hosts/)?[^/]*$"
  PUBLIC pipetrace::trace pipetrace::profiler
  PRIVATE nlohmann_json::nlohmann_json)

pipetrace_test(
  launcher_test SANITIZED
  FROM "^starting_ranks/(hosts/)?[^/]*$"
  LINK pipetrace::launcher
  LABELS runtime)

# Other projects' launchers.
pipetrace_library(
  launchers
  FROM "^starting_ranks/launchers/"
  PUBLIC pipetrace::trace)

pipetrace_test(
  launchers_test SANITIZED
  FROM "^starting_ranks/launchers/"
  LINK pipetrace::launchers
  LABELS runtime)
