#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "trace/testing/file_text.h"

namespace pipetrace::test {

/// A folder of its own for each test, removed afterwards.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pipetrace-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  /// Writes a file, with the folders above it.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return path(name);
  }

  std::string contents(std::string_view name) const { return fileText(folder_ / name); }

  std::filesystem::path folder_;
};

}  // namespace pipetrace::test
