#include "chart/script/script_numbers.h"

namespace pipetrace {
namespace {

constexpr std::uint64_t kScriptBase = 45;
static_assert(sizeof kScriptDigits - 1 == 2 * kScriptBase);

}  // namespace

void ScriptNumbers::add(std::int64_t number) {
  const auto twice = static_cast<std::uint64_t>(number) << 1U;
  std::uint64_t rest = number < 0 ? ~twice : twice;
  for (; rest >= kScriptBase; rest /= kScriptBase) {
    text_ += kScriptDigits[kScriptBase + rest % kScriptBase];
  }
  text_ += kScriptDigits[rest];
}

}  // namespace pipetrace
