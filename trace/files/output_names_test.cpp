#include "trace/files/output_names.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "trace/error.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputNamesTest : public testing::Test {
 protected:
  OutputNamesTest() {
    std::string name = (fs::temp_directory_path() / "pipetrace-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OutputNamesTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(OutputNamesTest, AnInputIsRefusedByWhateverNameAndLink) {
  std::ofstream(path("input")) << "x";
  std::ofstream(path("other")) << "x";
  fs::create_symlink("input", path("soft"));
  fs::create_symlink(path("soft"), path("softer"));
  fs::create_hard_link(path("input"), path("hard"));
  for (const char* name : {"input", "./input", "soft", "softer", "hard"}) {
    EXPECT_THAT(
        [&] {
          refuseInput(path(name), {path("other"), path("input")});
        },
        ThrowsMessage<Error>(HasSubstr(path(name) + " is an input")));
    EXPECT_THAT([&] { refuseInput(path("input"), {path(name)}); },
                ThrowsMessage<Error>(HasSubstr("choose another name")));
  }
  refuseInput(path("new"), {path("input")});
  refuseInput(path("other"), {path("input"), "-", ""});
  refuseInput("-", {path("input"), "-"});
}

}  // namespace
}  // namespace pipetrace
