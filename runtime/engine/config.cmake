# Configuration files of runs.
pipetrace_library(
  config
  SOURCES engine/config/config_file.cpp
          engine/config/config_keys.cpp
          engine/config/config_paths.cpp
          engine/config/config_plan.cpp
          engine/config/config_values.cpp
          engine/config/driver_words.cpp
          engine/config/run_config.cpp
          engine/config/stage_maps.cpp
          engine/config/yaml_mistakes.cpp
  PUBLIC pipetrace::runtime pipetrace::launcher
  PRIVATE nlohmann_json::nlohmann_json yaml-cpp)

pipetrace_test(
  config_test OWN_MACROS
  SOURCES engine/config/config_file_test.cpp
          engine/config/run_config_test.cpp
          engine/config/driver_words_test.cpp
          engine/config/stage_maps_test.cpp
  LINK pipetrace::config
  LABELS runtime)
