#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "profiler/testing/recorded_log.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/testing/error_of.h"

namespace pipetrace {

/// For tests: a folder with a file that `reader` reads, and what it names.
template <auto reader>
class WrittenFile {
 public:
  explicit WrittenFile(std::string name) : name_(std::move(name)) {}

  std::string path() const { return path(name_); }
  std::string path(const std::string& name) const { return log_.folder() + "/" + name; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }

  auto read(const std::string& text) const {
    write(name_, text);
    return reader(path());
  }

  /// The text of the Error; "" for none.
  std::string errorOf(const std::string& text) const {
    return testing::errorOf([&] { read(text); });
  }

 private:
  RecordedLog log_;
  std::string name_;
};

/// A configuration file.
class WrittenConfig : public WrittenFile<readRunConfig> {
 public:
  WrittenConfig() : WrittenFile("run.yml") {}
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
