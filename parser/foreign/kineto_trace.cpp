#include "parser/foreign/kineto_trace.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto/placer.h"
#include "parser/foreign/names/programs/programs.h"
#include "parser/profile/common_format.h"
#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kDistributed = "distributedInfo";
constexpr std::string_view kHostName = "host_name";
constexpr std::string_view kBase = common_format::kBaseTime;

std::optional<int> numberIn(const nlohmann::json& object, const char* key, int atLeast) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto number = parseNumber<int>(found->dump());
  if (!number || *number < atLeast || *number > kHighestRank) return std::nullopt;
  return number;
}

}  // namespace

bool KinetoInfo::isField(std::string_view key) {
  return key == kDistributed || key == kBase || key == kHostName;
}

void KinetoInfo::readField(std::string_view key, std::string_view json) {
  if (!isField(key)) return;
  if (key == kHostName) {
    const auto text = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
    if (text.is_string()) host = text.get<std::string>();
    return;
  }
  isThere = true;
  if (key == kBase) {
    base = parseNumber<Nanoseconds>(json);
    return;
  }
  auto object = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) return;
  rank = numberIn(object, "rank", 0);
  worldSize = numberIn(object, "world_size", 1);
  object.erase("rank");
  run = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool hasKinetoCategories(const ForeignTrace& trace) {
  constexpr std::array<std::string_view, 3> kTypical = {"cpu_op", "cuda_runtime",
                                                        "gpu_user_annotation"};
  std::array<StringId, kTypical.size()> ids{};
  std::transform(kTypical.begin(), kTypical.end(), ids.begin(),
                 [&](std::string_view text) { return trace.timeline.strings.intern(text); });
  for (const ForeignTrace::Lane& lane : trace.lanes) {
    for (const Event& event : lane.thread->events) {
      const StringId category = trace.names.categoryOf(event);
      if (category != 0 && std::find(ids.begin(), ids.end(), category) != ids.end()) return true;
    }
  }
  return false;
}

bool isKinetoTrace(const ForeignTrace& trace) {
  // Ascend's profiler for PyTorch gives its operators Kineto's categories, too.
  return !isAscendTrace(trace) && (trace.kineto.isThere || hasKinetoCategories(trace));
}

void placeKinetoTrace(ForeignTrace& trace) {
  if (!trace.lanes.empty()) placeKinetoLanes(trace);
}

}  // namespace pipetrace
