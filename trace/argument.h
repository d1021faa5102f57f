#pragma once

#include <cstdint>

#include "trace/strings/string_table.h"

namespace pipetrace {

enum class ArgumentType : std::uint32_t { kInteger, kReal, kText };

/// One `key = value` of an event that has no field of its own. Strings are interned in the
/// timeline's table. 16 bytes.
struct Argument {
  StringId key = 0;
  ArgumentType type = ArgumentType::kInteger;
  union {
    std::int64_t integer = 0;
    double real;
    StringId text;
  };

  static Argument ofInteger(StringId key, std::int64_t value) {
    Argument a;
    a.key = key;
    a.integer = value;
    return a;
  }
  static Argument ofReal(StringId key, double value) {
    Argument a;
    a.key = key;
    a.type = ArgumentType::kReal;
    a.real = value;
    return a;
  }
  static Argument ofText(StringId key, StringId value) {
    Argument a;
    a.key = key;
    a.type = ArgumentType::kText;
    a.text = value;
    return a;
  }
};
static_assert(sizeof(Argument) == 16);

}  // namespace pipetrace
