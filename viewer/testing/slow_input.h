#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <string>

namespace pipetrace {

/// A pipe in the file system that looks like a log which is still being copied. Reading it waits
/// until the destructor.
class SlowInput {
 public:
  SlowInput() : path_((folder_.path() + "/slow.log").toStdString()) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    writer_ = ::open(path_.c_str(), O_RDWR);
    EXPECT_EQ(::write(writer_, "not yet\n", 8), 8);
  }
  SlowInput(const SlowInput&) = delete;
  SlowInput& operator=(const SlowInput&) = delete;
  ~SlowInput() { ::close(writer_); }

  QString path() const { return QString::fromStdString(path_); }

 private:
  QTemporaryDir folder_;
  std::string path_;
  int writer_ = -1;
};

}  // namespace pipetrace
