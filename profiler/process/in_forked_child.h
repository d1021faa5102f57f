#pragma once

#include <functional>
#include <memory>
#include <utility>

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

/// Holds a T in the process that made it; in a forked child it is gone. It is not destroyed there,
/// because threads that the child does not have may have left it half changed. T::abandon(), which
/// must neither allocate nor lock, closes its files. Any thread may fork; the other calls are for
/// one thread.
template <typename T>
class UntilFork {
 public:
  /// `arguments` are those of T's constructor.
  template <typename... Arguments>
  explicit UntilFork(std::in_place_t, Arguments&&... arguments)
      : held_(std::make_unique<Held>(*this, std::forward<Arguments>(arguments)...)) {}
  UntilFork(const UntilFork&) = delete;
  UntilFork& operator=(const UntilFork&) = delete;

  /// Null: this is a forked child.
  T* get() const noexcept { return held_ == nullptr ? nullptr : &held_->value; }

 private:
  struct Held {
    template <typename... Arguments>
    explicit Held(UntilFork& owner, Arguments&&... arguments)
        : value(std::forward<Arguments>(arguments)...), inForkedChild([&owner] {
            if (Held* const held = owner.held_.release()) held->value.abandon();
          }) {}
    T value;
    const InForkedChild inForkedChild;
  };

  std::unique_ptr<Held> held_;
};

}  // namespace pipetrace
