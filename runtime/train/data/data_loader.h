#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace pipetrace {

/// The examples of one training step: the tensors of Model::batch by name, each [rows, …]. A rank
/// may leave out those that none of its blocks needs.
using Batch = std::map<std::string, at::Tensor>;

/// Makes the batches of a row of steps ahead of their use, on a thread of its own.
///
/// Threads: one takes. The function is called on the loader's thread, one call at a time, in the
/// order of the steps; with 0 ahead on the thread that takes.
class DataLoader {
 public:
  /// Begins to load the batches of `steps` steps, the first of them `first`. At most `ahead`
  /// batches are made or in the making that were not taken yet. With 0 there is no thread: take()
  /// makes the batch.
  ///
  /// Throws Error for an empty function and negative numbers.
  DataLoader(std::function<Batch(int step)> batch, int steps, int ahead = 1, int first = 0);
  /// Waits for the call of the function that runs, and lets go of the batches not taken.
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// The batch of `step`; waits until it is made. Throws what the function threw for that step,
  /// which then counts as taken. Throws Error for a step out of order, or after the last.
  Batch take(int step);

 private:
  struct Made {
    Batch batch;
    std::exception_ptr error;  // not null: the function threw
  };

  void makeAll();
  Made make(int step) const;
  bool isFull() const { return made_.size() >= static_cast<std::size_t>(ahead_); }

  const std::function<Batch(int step)> batch_;
  const int first_;
  const int steps_;
  const int ahead_;
  int next_ = 0;  // the step to take; of the thread that takes
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Made> made_;  // of the steps from next_ on
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
