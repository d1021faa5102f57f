#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/checkpoint/block_file.h"
#include "runtime/checkpoint/block_state.h"

namespace pipetrace {

/// Copies of blocks' tensors in the host's memory, that stay as they are while training goes on.
/// The next take() uses the same memory again, so it costs a copy and no new pages.
///
/// Threads: one at a time.
class Snapshot {
 public:
  /// Copies all tensors. Waits for the device that has them. It forgets all that it had before;
  /// memory that nothing needs any more is freed. Tensors are copied one by one, so that parameters
  /// that share memory have copies of their own.
  void take(const std::vector<BlockState>& states);

  const std::vector<BlockState>& states() const { return states_; }
  /// Its memory, in bytes: as much as the tensors have. With Adam that is three times the weights.
  std::int64_t bytes() const;

 private:
  std::vector<BlockState> states_;
};

/// The outcome of a save.
struct SavedBlocks {
  std::int64_t step = 0;
  std::vector<BlockFile> files;  ///< in the order of the states; all are synced, with their names
  std::string error;             ///< "": none. Else path and reason; files are incomplete then
  std::int64_t copyNs = 0;       ///< how long the training waited for the snapshot
  std::int64_t writeNs = 0;      ///< how long writing took beside it
  std::int64_t bytes = 0;        ///< the snapshot's memory
};

/// Writes the blocks of a rank into a folder of checkpoints, on a thread of its own, while training
/// goes on. It knows nothing of other ranks; CheckpointFolder makes their files a checkpoint.
///
/// It keeps one snapshot, whose memory is used again by the next save. A save that begins while one
/// is being written waits for it (isBusy() says so before).
///
/// Threads: one, beside its own. Its own blocks all signals, so that they end up elsewhere.
class CheckpointWriter {
 public:
  /// `around`: called on the writer's thread with the writing of a save, which it must call; for a
  /// recording. Empty: none.
  using Around = std::function<void(const std::function<void()>& write)>;

  /// `folder`: that of the CheckpointFolder.
  explicit CheckpointWriter(std::string folder, Around around = {});
  /// Gives up what is being written at the next piece of 4 MiB, and removes that file.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Copies the tensors and begins to write them. They may change when it returns. Throws Error as
  /// stateOf() does, which needs no writer. `states`: those that stateOf() and versionState() give.
  void save(std::int64_t step, const std::vector<BlockState>& states);

  /// Whether a save is being written.
  bool isBusy() const;
  /// The outcome of the oldest save that was not asked for yet; nullopt: of none. Does not wait.
  std::optional<SavedBlocks> result();
  /// Waits until nothing is being written.
  void wait();

 private:
  void run();
  void write(SavedBlocks& saved);

  const std::string folder_;
  const Around around_;
  Snapshot snapshot_;  // the thread's while isBusy_
  std::atomic<bool> giveUp_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SavedBlocks current_;
  bool isBusy_ = false;
  bool ends_ = false;
  std::deque<SavedBlocks> results_;
  std::thread thread_;
};

}  // namespace pipetrace
