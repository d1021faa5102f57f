#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/testing/recorded_log.h"
#include "runtime/engine/config/run_config.h"
#include "trace/error.h"

namespace pipetrace {

/// For tests: a folder with a configuration file and what it names.
class WrittenConfig {
 public:
  std::string path(const std::string& name = "run.yml") const { return log_.folder() + "/" + name; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }

  RunConfig read(const std::string& text) const {
    write("run.yml", text);
    return readRunConfig(path());
  }

  std::string errorOf(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  RecordedLog log_;
};

/// "micro_batches=4", a list with commas.
inline std::string textOf(const ConfigOption& option) {
  std::string text = option.name + "=";
  for (const std::string& value : option.values) {
    text += (text.ends_with('=') ? "" : ",") + value;
  }
  return text;
}

}  // namespace pipetrace
