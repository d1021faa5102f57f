#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "tests/pipe_run/run_pipe_run.h"
#include "trace/testing/file_text.h"

namespace pipetrace {

/// A folder with a space in its name, for a configuration file and what it names.
class ConfigFolder {
 public:
  ConfigFolder() { std::filesystem::create_directories(folder_); }

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name = "run.yml") const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const { return test::fileText(path(name)); }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// A program of the shell. It gets the file as $2, and --dry-run after it.
  std::string writeProgram(const std::string& name, const std::string& script) const {
    const std::string made = write(name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(made, std::filesystem::perms::owner_all);
    return made;
  }

  ProgramRun run(const std::string& text, std::vector<std::string> options = {},
                 const ProgramSetting& setting = {}) const {
    options.insert(options.begin(), write("run.yml", text));
    return pipeRun(options, setting);
  }

  /// The folders that runs have made in logs/, in the order of time.
  std::vector<std::string> runFolders() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(path("logs"))) return names;
    for (const auto& entry : std::filesystem::directory_iterator(path("logs"))) {
      names.push_back("logs/" + entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const RecordedLog log_;
  const std::string folder_ = log_.folder() + "/a folder";
};

}  // namespace pipetrace
