#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "runtime/starting_ranks/ranks_display.h"

namespace pipetrace {

/// How a rank ended.
struct RankEnd {
  int rank = 0;
  bool succeeded = false;  ///< exited with 0
  bool wasKilled = false;  ///< by a signal
  std::string text{};      ///< "exited with status 3"
};

/// Those ranks of a run that are on one host. No call waits for anything but a disk.
class RanksOnHost {
 public:
  RanksOnHost() = default;
  virtual ~RanksOnHost() = default;
  RanksOnHost(const RanksOnHost&) = delete;
  RanksOnHost& operator=(const RanksOnHost&) = delete;

  /// Adds what poll(2) is to wait for. `hasRoom`: the display takes more.
  virtual void addTo(std::vector<pollfd>& waiting, bool hasRoom) const = 0;
  /// The ranks that have ended since the last call. Call it before readOutput(). The display gets
  /// what others than ranks say.
  virtual std::vector<RankEnd> newEnds(RanksDisplay& display) = 0;
  /// Takes what ranks have printed, as long as the display has room.
  virtual void readOutput(RanksDisplay& display) = 0;
  /// All ranks have ended, and nothing of theirs is still to come.
  virtual bool isDone() const = 0;
  /// Sends the signal to all ranks and what they have started.
  virtual void signal(int number) = 0;
  /// Once it is done: shows lines that never ended.
  virtual void finish(RanksDisplay& display) = 0;

  /// The last lines that a rank of the group has printed, as of ShownLines; empty for others.
  virtual std::string lastLines(int rank) const = 0;
  /// Why nothing more is known of the ranks, for people; empty: all is well.
  virtual std::string loss() const { return {}; }
  /// Gives the ranks up: the group is done afterwards.
  virtual void abandon() {}
  /// Faults that ended nothing, once it is done.
  virtual std::vector<std::string> warnings() const = 0;
};

}  // namespace pipetrace
