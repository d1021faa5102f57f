# Configuration files of runs.
pipetrace_library(
  config
  SOURCES config/config_file.cpp
          config/config_keys.cpp
          config/config_paths.cpp
          config/config_plan.cpp
          config/config_values.cpp
          config/driver_words.cpp
          config/run_config.cpp
          config/stage_maps.cpp
  PUBLIC pipetrace::runtime
  PRIVATE nlohmann_json::nlohmann_json yaml-cpp)

pipetrace_test(
  config_test OWN_HEADERS
  SOURCES config/config_file_test.cpp
          config/run_config_test.cpp
          config/driver_words_test.cpp
          config/stage_maps_test.cpp
  LINK pipetrace::config
  LABELS runtime)
