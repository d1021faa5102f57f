#include "runtime/train/data/data_loader.h"

#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

DataLoader::DataLoader(std::function<Batch(int step)> batch, int steps, int ahead, int first)
    : batch_(std::move(batch)), first_(first), steps_(steps), ahead_(ahead), next_(first) {
  if (!batch_) throw Error("loading data needs a function that makes a batch");
  if (steps_ < 0) throw Error("there cannot be " + std::to_string(steps_) + " steps of data");
  if (ahead_ < 0) throw Error("cannot load " + std::to_string(ahead_) + " batches ahead");
  if (ahead_ > 0 && steps_ > 0) thread_ = std::thread([this] { makeAll(); });
}

DataLoader::~DataLoader() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch DataLoader::take(int step) {
  if (step != next_) {
    throw Error("the data of step " + std::to_string(step) + " was asked for, but next is step " +
                std::to_string(next_));
  }
  if (step - first_ >= steps_) {
    throw Error("there is no data for step " + std::to_string(step) + ", only for " +
                std::to_string(steps_) + " steps" +
                (first_ == 0 ? "" : " from step " + std::to_string(first_) + " on"));
  }
  ++next_;
  if (ahead_ == 0) return batch_(step);
  Made made;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !made_.empty(); });
    made = std::move(made_.front());
    made_.pop_front();
  }
  changed_.notify_all();
  if (made.error) std::rethrow_exception(std::move(made.error));
  return std::move(made.batch);
}

void DataLoader::makeAll() {
  for (int step = first_; step - first_ < steps_; ++step) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !isFull(); });
      if (ends_) return;
    }
    Made made = make(step);
    {
      const std::lock_guard lock(mutex_);
      made_.push_back(std::move(made));
    }
    changed_.notify_all();
  }
}

// The handler has ended when the error is handed over, so that the thread that takes it is the last
// to hold it.
DataLoader::Made DataLoader::make(int step) const {
  Made made;
  try {
    made.batch = batch_(step);
  } catch (...) {
    made.error = std::current_exception();
  }
  return made;
}

}  // namespace pipetrace
