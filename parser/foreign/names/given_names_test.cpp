#include "parser/foreign/names/given_names.h"

#include <gmock/gmock.h>

#include "parser/testing/files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

class GivenNamesTest : public test::FolderTest {
 protected:
  std::string kinds(const char* name, const std::string& entries) const {
    return write(name, "{\"kinds\": {" + entries + "}}");
  }

  static JobKind kindOf(const std::vector<std::string>& words, const char* name) {
    const GivenNames given(words);
    JobNames names(&given);
    return names[name].kind;
  }
};

TEST_F(GivenNamesTest, TwoPresetsTogetherKnowTheNamesOfBoth) {
  const std::vector<std::string> both = {"deepspeed", "paddle"};
  EXPECT_EQ(kindOf(both, "batch_input"), JobKind::kData);
  EXPECT_EQ(kindOf(both, "B3"), JobKind::kBackward);
}

TEST_F(GivenNamesTest, TheFirstOfTwoPresetsThatKnowANameCounts) {
  EXPECT_EQ(kindOf({"deepspeed", "torchtitan"}, "step"), JobKind::kOptimizer);
  EXPECT_EQ(kindOf({"torchtitan", "deepspeed"}, "step"), JobKind::kOther);
}

TEST_F(GivenNamesTest, FilesGoBeforePresetsInAnyOrderAndTheFirstFileCounts) {
  const std::string one = kinds("one.json", R"("step": "lr", "a": "forward")");
  const std::string two = kinds("two.json", R"("step": "data", "b": "backward")");
  EXPECT_EQ(kindOf({"deepspeed", one, two}, "step"), JobKind::kLr);
  EXPECT_EQ(kindOf({two, "deepspeed", one}, "step"), JobKind::kData);
  EXPECT_EQ(kindOf({one, two}, "b"), JobKind::kBackward);
  EXPECT_EQ(kindOf({one, "deepspeed"}, "fwd_microstep"), JobKind::kForward);
  EXPECT_EQ(kindOf({one, "deepspeed"}, "PP:0F1"), JobKind::kForward) << "always known";
}

TEST_F(GivenNamesTest, OnlyFilesAreOfTheUser) {
  const GivenNames preset({"torch"});
  EXPECT_FALSE(preset.isOfUser());
  EXPECT_FALSE(preset.find("PP:0F1")->isAsked);
  const GivenNames both({"torch", kinds("k.json", R"("a": "forward")")});
  EXPECT_TRUE(both.isOfUser());
  EXPECT_TRUE(both.find("a")->isAsked);
  EXPECT_FALSE(both.find("b"));
}

TEST_F(GivenNamesTest, APresetIsPreferredToAFileOfThatNameInTheCurrentFolder) {
  kinds("torch", R"("PP:0F1": "backward")");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_EQ(kindOf({"torch"}, "PP:0F1"), JobKind::kForward);
  EXPECT_EQ(kindOf({"./torch"}, "PP:0F1"), JobKind::kBackward);
  std::filesystem::current_path(before);
}

TEST_F(GivenNamesTest, AFileThatIsMissingIsAnError) {
  EXPECT_THROW(GivenNames({"torch", path("none.json")}), Error);
}

}  // namespace
}  // namespace pipetrace
