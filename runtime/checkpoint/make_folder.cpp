#include "runtime/checkpoint/make_folder.h"

#include <filesystem>
#include <system_error>

#include "trace/files/write_all.h"

namespace pipetrace {

void makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) throw writeError("make the folder", path, error.value());
}

}  // namespace pipetrace
