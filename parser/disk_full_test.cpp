#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <set>

#include "parser/chrome/write/writer.h"
#include "parser/csv_writer.h"
#include "parser/paddle/paddle_profile.h"
#include "parser/perfetto/writer.h"
#include "parser/sqlite/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/log.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// While it lives, no file of this process can grow past `bytes`, as on a full disk.
class FullAfter {
 public:
  explicit FullAfter(std::size_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullAfter() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullAfter(const FullAfter&) = delete;
  FullAfter& operator=(const FullAfter&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

/// About `count` sizes below `size`: all near both ends, the others spread between.
std::set<std::size_t> sizesBelow(std::size_t size, std::size_t count) {
  std::set<std::size_t> sizes;
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 8); ++i) {
    sizes.insert({i, size - 1 - i});
  }
  for (std::size_t i = 0; i < count; ++i) sizes.insert(size * i / count);
  return sizes;
}

class DiskFullTest : public test::FolderTest {
 protected:
  /// `write` makes the files `names`. With room for only a part of its output, it must report that
  /// and leave every file as it was.
  void expectOldFilesStay(const std::vector<std::string>& names,
                          const std::function<void()>& writeFiles) {
    writeFiles();
    std::size_t size = 0;
    for (const std::string& name : names) size = std::max(size, contents(name).size());
    ASSERT_GT(size, 1000U);
    for (const std::string& name : names) write(name, "old");
    const std::size_t files = fileCount();
    for (const std::size_t room : sizesBelow(size, 40)) {
      std::string message;
      {
        const FullAfter full(room);
        try {
          writeFiles();
        } catch (const Error& error) {
          message = error.what();
        }
      }
      EXPECT_THAT(message, testing::HasSubstr("cannot")) << "with room for " << room;
      EXPECT_THAT(message, testing::AnyOf(testing::HasSubstr(names.front()),
                                          testing::HasSubstr(names.back()),
                                          testing::HasSubstr("temporary")));
      for (const std::string& name : names) EXPECT_EQ(contents(name), "old") << room;
      ASSERT_EQ(fileCount(), files) << "something was left behind with room for " << room;
    }
  }

  void expectOldFileStays(const std::string& name,
                          const std::function<void(const Timeline&, OutputFile&)>& writeProfile) {
    const Timeline timeline = test::oneFOneB(2, 4, 1);
    expectOldFilesStay({name}, [&] {
      OutputFile out(path(name));
      writeProfile(timeline, out);
      out.commit();
    });
  }

  std::size_t fileCount() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator()));
  }
};

TEST_F(DiskFullTest, TheOldChromeJsonStaysIfTheDiskIsFullAtAnyByte) {
  expectOldFileStays("a.json", [](const Timeline& timeline, OutputFile& out) {
    writeChromeJson(timeline, {.threads = 2}, out);
  });
}

TEST_F(DiskFullTest, TheOldPerfettoTraceStaysIfTheDiskIsFullAtAnyByte) {
  expectOldFileStays("a.pftrace", [](const Timeline& timeline, OutputFile& out) {
    writePerfetto(timeline, {}, out);
  });
}

TEST_F(DiskFullTest, TheOldDatabaseStaysIfTheDiskIsFullAtAnyByte) {
  expectOldFileStays("a.sqlite",
                     [](const Timeline& timeline, OutputFile& out) { writeSqlite(timeline, out); });
}

TEST_F(DiskFullTest, TheOldCsvFileStaysIfTheDiskIsFullAtAnyByte) {
  expectOldFileStays("a.csv",
                     [](const Timeline& timeline, OutputFile& out) { writeCsv(timeline, out); });
}

TEST_F(DiskFullTest, BothOldProfilesOfPaddlePaddleStayIfTheDiskIsFullAtAnyByte) {
  std::string log;
  for (int i = 0; i < 12; ++i) log += test::jobLine(2 * i, 2 * i + 1);
  write("workerlog.0", log);
  expectOldFilesStay({"pipeline_profile.json", "pipeline_profile_perfetto.json"}, [&] {
    Diagnostics diagnostics;
    OutputSet files;
    writePaddleProfiles({.logFolder = folder_.string(), .devices = {0}}, files, diagnostics);
    files.commit();
  });
}

}  // namespace
}  // namespace pipetrace
