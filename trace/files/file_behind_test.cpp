#include "trace/files/output_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

class FileBehind : public testing::Test {
 protected:
  FileBehind()
      : folder_(fs::canonical(testing::TempDir()) / ("file behind " + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "sub");
  }
  ~FileBehind() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(FileBehind, IsTheSameForEveryWayToNameIt) {
  std::ofstream(path("sub/file")) << "x";
  fs::create_symlink("sub", path("folder link"));
  fs::create_symlink("sub/file", path("link"));
  fs::create_symlink(path("link"), path("link to link"));
  for (const char* name :
       {"sub/file", "sub/../sub/./file", "folder link/file", "link", "link to link"}) {
    EXPECT_EQ(fileBehind(path(name)), path("sub/file")) << name;
  }
}

TEST_F(FileBehind, IsFoundForAFileThatDoesNotExist) {
  fs::create_symlink("sub/missing", path("link"));
  EXPECT_EQ(fileBehind(path("link")), path("sub/missing"));
  EXPECT_EQ(fileBehind(path("no/such/file")), path("no/such/file"));
}

TEST_F(FileBehind, StaysALinkThatLeadsToItself) {
  fs::create_symlink("loop", path("loop"));
  EXPECT_EQ(fileBehind(path("loop")), path("loop"));
}

TEST_F(FileBehind, IsWrittenThroughALinkEvenIfItDoesNotExistYet) {
  fs::create_symlink("sub/new", path("link"));
  writeWholeFile(path("link"), "text");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_regular_file(path("sub/new")));
}

}  // namespace
}  // namespace pipetrace
