#include "apps/pipe_run/config/run_folder.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return text.data();
}

[[noreturn]] void failedToMake(const std::string& folder, const std::error_code& error) {
  throw Error("cannot make the folder " + folder + ": " + error.message());
}

}  // namespace

void makeRunFolderAt(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) failedToMake(folder, error);
}

void requireRunFolder(const std::string& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    failedToMake(folder, std::make_error_code(std::errc::not_a_directory));
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    throw Error("cannot make a folder in " + there.string() + ": " + std::strerror(errno));
  }
}

std::string makeRunFolder(const std::string& logs) {
  makeRunFolderAt(logs);
  const std::string first = logs + "/" + timestamp();
  std::string folder = first;
  std::error_code error;
  for (int i = 2; !fs::create_directory(folder, error); ++i) {
    if (error) failedToMake(folder, error);
    folder = first + "-" + std::to_string(i);
  }
  return folder;
}

void writeRunFiles(const std::string& folder, const std::string& config,
                   const std::vector<std::string>& commands) {
  std::ifstream in(config, std::ios::binary);
  if (!in) throw Error("cannot read " + config + " again");
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  writeWholeFile(folder + "/" + fs::path(config).filename().string(), bytes);
  std::string history;
  for (const std::string& command : commands) history += command + "\n";
  writeWholeFile(folder + "/command_history.log", history);
}

}  // namespace pipetrace
