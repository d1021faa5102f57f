#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace pipetrace {

/// Whole numbers as a JSON array.
class NumberList {
 public:
  void add(std::int64_t number) {
    if (!text_.empty()) text_ += ',';
    text_ += std::to_string(number);
  }
  void add(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) add(number);
  }

  std::string json() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

}  // namespace pipetrace
