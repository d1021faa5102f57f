#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/json/text_buffer.h"
#include "parser/profile/profile_summary.h"
#include "parser/profile/viewer_rows.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A Chrome Trace Event file in its array form that grows piece by piece. Viewers open it at any
/// time, as the format allows the closing bracket to be missing. Our reader gets the same events as
/// from writeChromeJson(): the name of each process carries the metadata that the latter has in
/// `otherData`. The file is written in place, as there is no moment at which it could be renamed.
class GrowingChromeJson {
 public:
  /// Starts an empty file. Throws Error when that cannot be done.
  explicit GrowingChromeJson(std::string path);
  ~GrowingChromeJson();
  GrowingChromeJson(const GrowingChromeJson&) = delete;
  GrowingChromeJson& operator=(const GrowingChromeJson&) = delete;

  /// Appends the events and samples of a sorted timeline, and with `flows` the arrows between them.
  /// Times count from a minute before the first one; events that are earlier still are left out and
  /// counted. Throws Error when the file cannot be written; all earlier events are then still
  /// there, whole.
  void add(const Timeline& timeline, bool flows);

  /// Closes the array and syncs the file. Nothing may be added afterwards.
  void close();

  /// The contents of the file so far.
  const ProfileSummary& summary() const { return summary_; }
  /// Events and samples that came too late to be added.
  std::int64_t tooEarly() const { return tooEarly_; }
  bool isEmpty() const { return isEmpty_; }

 private:
  /// A row of the viewer, for the whole file.
  struct Row {
    ViewerRow row;
    Nanoseconds free = kNsMin;  ///< no event is on it from then on
  };
  using Lane = std::pair<int, std::string>;

  void takeOrigin(const Timeline& timeline);
  ViewerRows placeOn(const Timeline& timeline, TextBuffer& names);
  std::size_t rowFor(const Track& track, const Event& event, TextBuffer& names);
  void nameProcesses(const Timeline& timeline, TextBuffer& names);
  void count(const Timeline& timeline);
  void append(std::string_view text);
  [[noreturn]] void fail(const char* what, int error);

  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;  // bytes of whole elements
  bool isEmpty_ = true;    // no element yet
  bool hasOrigin_ = false;
  Nanoseconds origin_ = 0;
  std::vector<Row> rows_;
  std::map<Lane, std::vector<std::size_t>> rowsOfLane_;
  std::map<int, std::string> processes_;  // the name of each rank's process so far
  std::int64_t nextArrow_ = 1;
  std::int64_t tooEarly_ = 0;
  ProfileSummary summary_;
};

}  // namespace pipetrace
