#include "parser/profile/profile_metadata.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "parser/json/json_string.h"
#include "parser/profile/common_format.h"
#include "parser/trace_reader.h"
#include "trace/checked_span.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
namespace lf = log_format;
using Json = nlohmann::ordered_json;

bool isRank(int rank) { return rank >= 0 && rank <= kHighestRank; }

std::string key(std::string_view text) { return std::string(text); }

template <typename Value>
void put(Json& json, std::string_view name, const Value& value) {
  json[key(name)] = value;
}

template <typename Value>
void put(Json& json, std::string_view name, const std::optional<Value>& value) {
  json[key(name)] = *value;
}

void put(Json& json, std::string_view name, const std::vector<ClockReading>& readings) {
  for (const ClockReading& reading : readings) {
    json[key(name)].push_back({{key(cf::kTimeNs), reading.when},
                               {key(lf::kOffset), reading.offset},
                               {key(lf::kBound), reading.bound}});
  }
}

void put(Json& json, std::string_view name, const std::vector<Nanoseconds>& times) {
  json[key(name)] = times;
}

/// Calls `visit` with each field that profiles keep, and whether it is in the object `end`.
template <typename Visitor>
void visitKeptFields(const Visitor& visit) {
  visitRankFields([&]<typename Field>(Field field, [[maybe_unused]] auto member) {
    constexpr bool kIsOfEnd =
        Field::kPlace == RankFieldPlace::kHasEnd || Field::kPlace == RankFieldPlace::kEnd;
    if constexpr (Field::kPlace != RankFieldPlace::kFound) visit(field, member, kIsOfEnd);
  });
}

Json toJson(int rank, RankInfo info) {
  info.rank = rank;
  Json json;
  visitKeptFields([&]<typename Field>(Field, auto member, bool isOfEnd) {
    if (!Field::kIsAlwaysWritten && !isGiven(info.*member)) return;
    put(isOfEnd ? json[key(cf::kEnd)] : json, Field::kKey, info.*member);
  });
  return json;
}

Json toJson(const CounterSeries& series) {
  Json json;
  json[key(lf::kRank)] = series.rank;
  json[key(lf::kName)] = series.name;
  if (!series.unit.empty()) put(json, lf::kUnit, series.unit);
  for (const CounterSample& sample : series.samples) {
    if (std::isfinite(sample.value)) continue;
    const char* text = std::isnan(sample.value) ? "nan" : sample.value > 0 ? "inf" : "-inf";
    json[key(cf::kNotFinite)].push_back({{key(cf::kTimeNs), sample.time}, {"value", text}});
  }
  return json;
}

/// Sets `out` if the object has that field with a value of that type and range; returns whether it
/// has.
template <typename Number>
bool get(const Json& json, std::string_view name, Number& out) {
  const auto found = json.find(key(name));
  if (found == json.end()) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!found->is_number()) return false;
    out = found->template get<Number>();
  } else {
    // Larger ones are unsigned for the parser and would wrap around.
    const bool fits = found->is_number_integer() &&
                      !(found->is_number_unsigned() &&
                        found->template get<std::uint64_t>() > static_cast<std::uint64_t>(kNsMax));
    if (!fits) return false;
    const auto value = found->template get<std::int64_t>();
    if (value < std::numeric_limits<Number>::min() || value > std::numeric_limits<Number>::max()) {
      return false;
    }
    out = static_cast<Number>(value);
  }
  return true;
}

template <typename Number>
void get(const Json& json, std::string_view name, std::optional<Number>& out) {
  Number value{};
  if (get(json, name, value)) out = value;
}

void get(const Json& json, std::string_view name, std::string& out) {
  const auto found = json.find(key(name));
  if (found != json.end() && found->is_string()) out = found->get<std::string>();
}

void get(const Json& json, std::string_view name, bool& out) {
  const auto found = json.find(key(name));
  if (found != json.end() && found->is_boolean()) out = found->get<bool>();
}

/// The elements of an array of objects; nothing for anything else.
std::vector<const Json*> objectsOf(const Json& json, std::string_view name) {
  std::vector<const Json*> objects;
  const auto found = json.find(key(name));
  if (found == json.end() || !found->is_array()) return objects;
  for (const Json& element : *found) {
    if (element.is_object()) objects.push_back(&element);
  }
  return objects;
}

void get(const Json& json, std::string_view name, std::vector<ClockReading>& out) {
  for (const Json* reading : objectsOf(json, name)) {
    ClockReading& added = out.emplace_back();
    get(*reading, cf::kTimeNs, added.when);
    get(*reading, lf::kOffset, added.offset);
    get(*reading, lf::kBound, added.bound);
  }
}

void get(const Json& json, std::string_view name, std::vector<Nanoseconds>& out) {
  const auto found = json.find(key(name));
  if (found == json.end() || !found->is_array()) return;
  for (const Json& time : *found) {
    if (time.is_number_integer()) out.push_back(time.get<Nanoseconds>());
  }
  std::sort(out.begin(), out.end());
}

RankInfo rankFrom(const Json& json) {
  RankInfo info;
  const auto end = json.find(key(cf::kEnd));
  const bool hasEnd = end != json.end() && end->is_object();
  visitKeptFields([&]<typename Field>(Field, auto member, bool isOfEnd) {
    if (!isOfEnd) {
      get(json, Field::kKey, info.*member);
    } else if (hasEnd) {
      get(*end, Field::kKey, info.*member);
    }
  });
  return info;
}

CounterSeries counterFrom(const Json& json) {
  CounterSeries series;
  get(json, lf::kRank, series.rank);
  get(json, lf::kName, series.name);
  get(json, lf::kUnit, series.unit);
  for (const Json* sample : objectsOf(json, cf::kNotFinite)) {
    CounterSample& added = series.samples.emplace_back();
    std::string text;
    get(*sample, cf::kTimeNs, added.time);
    get(*sample, "value", text);
    added.value = text == "inf"    ? std::numeric_limits<double>::infinity()
                  : text == "-inf" ? -std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::quiet_NaN();
  }
  return series;
}

}  // namespace

Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads) {
  const Timeline::Span span = checkedSpan(timeline, threads);
  if (!absoluteTime) return span.begin;
  if (span.begin < 0) {
    throw Error(
        "cannot write times that count from the Unix epoch: the run begins before it; leave out "
        "--absolute-time");
  }
  return 0;
}

void appendProfileMetadata(std::string& out, const Timeline& timeline, Nanoseconds origin) {
  Json json;
  json[key(cf::kFormat)] = cf::kVersion;
  json[key(cf::kOrigin)] = std::to_string(origin);  // a number would be rounded by JavaScript
  json[key(cf::kRanks)] = Json::array();
  for (const auto& [rank, info] : timeline.ranks) {
    json[key(cf::kRanks)].push_back(toJson(rank, info));
  }
  json[key(cf::kCounters)] = Json::array();
  for (const CounterSeries& series : timeline.counters) {
    json[key(cf::kCounters)].push_back(toJson(series));
  }
  appendJsonForViewers(out, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<ProfileMetadata> readProfileMetadata(std::string_view otherData) {
  const Json json = Json::parse(otherData.begin(), otherData.end(), nullptr, false);
  const std::string ours = key(cf::kOurs);
  if (!json.is_object() || !json.contains(ours) || !json[ours].is_object()) return std::nullopt;
  const Json& data = json[ours];
  ProfileMetadata metadata;
  get(data, cf::kFormat, metadata.format);
  std::string origin;
  get(data, cf::kOrigin, origin);
  const auto parsed = parseNumber<Nanoseconds>(origin);
  if (!parsed) return std::nullopt;
  metadata.origin = *parsed;
  for (const Json* rank : objectsOf(data, cf::kRanks)) {
    const RankInfo info = rankFrom(*rank);
    if (isRank(info.rank)) metadata.ranks[info.rank] = info;
  }
  for (const Json* series : objectsOf(data, cf::kCounters)) {
    const CounterSeries counter = counterFrom(*series);
    if (isRank(counter.rank)) metadata.counters.push_back(counter);
  }
  return metadata;
}

}  // namespace pipetrace
