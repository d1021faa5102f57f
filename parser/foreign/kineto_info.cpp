#include "parser/foreign/kineto_info.h"

#include <nlohmann/json.hpp>
#include <string>

#include "parser/chrome/format.h"
#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kDistributed = "distributedInfo";
constexpr std::string_view kBase = chrome_format::kBaseTime;

std::optional<int> numberIn(const nlohmann::json& object, const char* key, int atLeast) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto number = parseNumber<int>(found->dump());
  if (!number || *number < atLeast || *number > kHighestRank) return std::nullopt;
  return number;
}

}  // namespace

bool KinetoInfo::isField(std::string_view key) { return key == kDistributed || key == kBase; }

void KinetoInfo::readField(std::string_view key, std::string_view json) {
  if (!isField(key)) return;
  isThere = true;
  if (key == kBase) {
    base = parseNumber<Nanoseconds>(json);
    return;
  }
  const auto object = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) return;
  rank = numberIn(object, "rank", 0);
  worldSize = numberIn(object, "world_size", 1);
}

}  // namespace pipetrace
