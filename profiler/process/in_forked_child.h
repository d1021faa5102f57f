#pragma once

#include <functional>

namespace pipetrace {

/// Runs `action` in each child that is forked while this lives, before fork() returns there. A
/// child has its parent's memory and none of its threads. So an object must not join a thread
/// there, wait for a lock that one holds, or write to the parent's files.
///
/// The action must neither allocate nor lock. It is run once: not in the child's own children. It
/// is not run in children that run another program at once (posix_spawn, vfork). Any thread.
class InForkedChild {
 public:
  explicit InForkedChild(std::function<void()> action);
  ~InForkedChild();
  InForkedChild(const InForkedChild&) = delete;
  InForkedChild& operator=(const InForkedChild&) = delete;

 private:
  static void prepare() noexcept;
  static void goOn() noexcept;
  static void runAll() noexcept;

  const std::function<void()> action_;
  bool hasRun_ = false;
  InForkedChild* previous_ = nullptr;
  InForkedChild* next_ = nullptr;
};

}  // namespace pipetrace
