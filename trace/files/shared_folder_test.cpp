#include "trace/files/shared_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class SharedFolderTest : public testing::Test {
 protected:
  SharedFolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "pipetrace-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SharedFolderTest() override { std::filesystem::remove_all(folder_); }

  std::string warningWith(mode_t mode) const {
    chmod(folder_.c_str(), mode);
    return sharedFolderWarning(folder_);
  }

  std::string folder_;
};

TEST_F(SharedFolderTest, AFolderOfOnesOwnIsNotShared) {
  for (const mode_t mode : {0700, 0755, 0500}) EXPECT_THAT(warningWith(mode), IsEmpty()) << mode;
  EXPECT_THAT(sharedFolderWarning(folder_ + "/none"), IsEmpty());
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_THAT(sharedFolderWarning(folder_ + "/file"), IsEmpty());
}

TEST_F(SharedFolderTest, OthersMayReplaceFilesWhereTheyMayWriteUnlessTheBitIsSticky) {
  EXPECT_THAT(warningWith(0777), AllOf(HasSubstr(folder_), HasSubstr("chmod go-w")));
  EXPECT_THAT(warningWith(01777), IsEmpty());
}

TEST_F(SharedFolderTest, AGroupIsSharedUnlessItIsTheUsersOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can choose the group of a folder";
  ASSERT_EQ(chown(folder_.c_str(), 0, 65534), 0);
  EXPECT_THAT(warningWith(0775), HasSubstr("they may write to it"));
  EXPECT_THAT(warningWith(01775), IsEmpty());
  ASSERT_EQ(chown(folder_.c_str(), 0, 0), 0);
  EXPECT_THAT(warningWith(0775), IsEmpty());
}

TEST_F(SharedFolderTest, TheOwnerOfAFolderMayReplaceWhatIsInIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(warningWith(0755), HasSubstr("a folder of user 65534"));
  EXPECT_THAT(warningWith(01777), HasSubstr("a folder of user 65534"));
}

}  // namespace
}  // namespace pipetrace
