#include "trace/text/fixed_text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

TEST(FixedText, NumbersHaveThatManyDecimals) {
  EXPECT_EQ(fixedText(1.2345, 2), "1.23");
  EXPECT_EQ(fixedText(-0.5, 0), "-0");
  EXPECT_EQ(fixedText(1e15, 1), "1000000000000000.0");
  EXPECT_EQ(fixedText(std::numeric_limits<double>::max(), 20).size(), 309U + 1 + 20);
}

/// A German locale in a folder of its own: few machines have one.
class GermanLocaleTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = std::filesystem::temp_directory_path() / "pipetrace-locale-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    const std::string make = "localedef -i de_DE -f UTF-8 " + folder + "/de_DE.UTF-8 2>/dev/null";
    if (std::system(make.c_str()) != 0) GTEST_SKIP() << "needs the Debian package locales";
    setenv("LOCPATH", folder.c_str(), 1);
    ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
    ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
};

TEST_F(GermanLocaleTest, NumbersHaveAPointAllTheSame) {
  EXPECT_EQ(fixedText(2.5, 1), "2.5");
  EXPECT_EQ(formatDuration(1'500'000), "1.500 ms");
  EXPECT_EQ(percentText(1, 8), "12.5 %");
}

}  // namespace
}  // namespace pipetrace
