#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace pipetrace::test {

/// All bytes of a file; "" if it cannot be read.
inline std::string fileText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace pipetrace::test
