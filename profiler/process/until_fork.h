#pragma once

#include <memory>
#include <utility>

#include "profiler/process/in_forked_child.h"

namespace pipetrace {

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
