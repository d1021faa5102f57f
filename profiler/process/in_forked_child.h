#pragma once

#include <functional>

namespace pipetrace {

/// Runs `action` in each child that is forked while this lives, before fork() returns there. A
/// child has its parent's memory and none of its threads, so what would join one, wait for what one
/// has locked, or write where the parent does lets go of that.
///
/// The action must neither allocate nor lock. It is run once: not in the child's own children.
/// Children that run another program at once (posix_spawn, vfork) are not told. Any thread.
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
