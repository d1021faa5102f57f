# Configuration files of runs.
pipetrace_library(
  config TORCH
  FROM "^engine/config/"
  PUBLIC pipetrace::runtime pipetrace::launcher
  PRIVATE nlohmann_json::nlohmann_json yaml-cpp)

pipetrace_test(
  config_test OWN_MACROS
  FROM "^engine/config/"
  LINK pipetrace::config
  LABELS runtime)
