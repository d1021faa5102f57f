#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "runtime/transport/message.h"

namespace pipetrace {

/// A stream for transfers: runs the posted tasks one after the other, on a thread of its own.
class TransferLane {
 public:
  TransferLane();
  /// Waits for the task that is running; the tasks after it are dropped, and their futures broken.
  ~TransferLane();
  TransferLane(const TransferLane&) = delete;
  TransferLane& operator=(const TransferLane&) = delete;

  /// The future gets the result or the error of `task`. Any thread.
  std::future<Message> post(std::function<Message()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<Message()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
