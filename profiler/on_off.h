#pragma once

namespace pipetrace {

/// Whether to record. A bool is a decision. Without one recording is off, and a recorder that is
/// given a log folder reports how to switch it on.
class OnOff {
 public:
  // Implicit: `options.isOn = true` is how a program decides.
  constexpr OnOff(bool isOn) noexcept : isOn_(isOn), isDecided_(true) {}
  static constexpr OnOff undecided() noexcept { return {}; }

  constexpr operator bool() const noexcept { return isOn_; }
  constexpr bool isDecided() const noexcept { return isDecided_; }

 private:
  constexpr OnOff() noexcept = default;

  bool isOn_ = false;
  bool isDecided_ = false;
};

}  // namespace pipetrace
