#include "parser/foreign/kineto_trace.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto/placer.h"
#include "parser/foreign/names/group_names.h"
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

std::vector<int> ranksIn(const nlohmann::json& group, std::optional<int> worldSize) {
  std::vector<int> ranks;
  const auto list = group.find("ranks");
  if (list == group.end() || !list->is_array()) return ranks;
  for (const nlohmann::json& each : *list) {
    const auto rank =
        each.is_number_integer() ? parseNumber<int>(each.dump()) : std::optional<int>();
    if (!rank || *rank < 0 || *rank > kHighestRank) return {};
    ranks.push_back(*rank);
  }
  // Older versions leave the list of a group of all ranks empty.
  constexpr int kMost = 1'000'000;
  const auto size = numberIn(group, "pg_size", 1);
  if (ranks.empty() && size && size == worldSize && *size <= kMost) {
    for (int rank = 0; rank < *size; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

void readGroups(const nlohmann::json& object, KinetoInfo& info) {
  const auto list = object.find("pg_config");
  if (list == object.end() || !list->is_array()) return;
  const auto textIn = [](const nlohmann::json& group, const char* key) {
    const auto found = group.find(key);
    return found != group.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const nlohmann::json& group : *list) {
    if (!group.is_object()) continue;
    const std::vector<int> ranks = ranksIn(group, info.worldSize);
    if (ranks.empty()) continue;
    const std::string name = textIn(group, "pg_name");
    const std::string purpose = textIn(group, "pg_desc");
    info.ranksOfGroups.emplace(name, ranks);
    addGroup(info.groups,
             {.ranks = ranks, .axis = axisOfGroupName(purpose.empty() ? name : purpose)});
  }
}

}  // namespace

void addGroup(std::vector<CommunicationGroup>& groups, const CommunicationGroup& group) {
  const auto same = std::find_if(groups.begin(), groups.end(), [&](const CommunicationGroup& each) {
    return each.ranks == group.ranks &&
           (each.axis == group.axis || each.axis == GroupAxis::kUnknown ||
            group.axis == GroupAxis::kUnknown || group.axis == GroupAxis::kOther ||
            each.axis == GroupAxis::kOther);
  });
  if (same == groups.end()) {
    groups.push_back(group);
    return;
  }
  const auto says = [](GroupAxis axis) {
    return axis == GroupAxis::kUnknown ? 0 : axis == GroupAxis::kOther ? 1 : 2;
  };
  if (says(group.axis) > says(same->axis)) same->axis = group.axis;
  same->reduces = same->reduces || group.reduces;
  same->reducesInForwards = same->reducesInForwards || group.reducesInForwards;
}

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
  if (const auto found = object.find("backend"); found != object.end() && found->is_string()) {
    backend = found->get<std::string>();
  }
  readGroups(object, *this);
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
