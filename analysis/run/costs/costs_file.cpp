#include "analysis/run/costs/costs_file.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/run/costs/cost_json.h"
#include "schedule/file/schedule_cell.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::string_view kBandwidth = "bandwidth_gbs";
constexpr std::string_view kJobs = "jobs_ms";

constexpr CostKey<GivenCosts, GivenCosts::Values> kStageKeys[] = {
    {"forward_ms", &GivenCosts::forward},
    {"backward_ms", &GivenCosts::backward},
    {"backward_input_ms", &GivenCosts::backwardInput},
    {"backward_weight_ms", &GivenCosts::backwardWeight},
    {"forward_backward_ms", &GivenCosts::forwardBackward},
    {"recompute_ms", &GivenCosts::recompute},
    {"reduce_ms", &GivenCosts::reduction},
    {"activation_bytes", &GivenCosts::activation},
    {kFreedByInput, &GivenCosts::freedByInput},
    {"recomputed_bytes", &GivenCosts::recomputed},
    {"working_bytes", &GivenCosts::working},
    {"weights_bytes", &GivenCosts::weights},
    {"message_bytes", &GivenCosts::message},
    {"blocks", &GivenCosts::blocks}};
constexpr CostKey<GivenCosts, Nanoseconds> kTimeKeys[] = {
    {"transfer_ms", &GivenCosts::transfer},
    {"lr_ms", &GivenCosts::lr},
    {"optimizer_ms", &GivenCosts::optimizer},
    {"agree_ms", &GivenCosts::scalarAllReduce}};

class CostsReader {
 public:
  explicit CostsReader(const std::string& name) : name_(name) {}

  GivenCosts read(const CostJson& file) {
    if (!file.isA(CostJson::Kind::kObject)) {
      throw Error(name_ + " holds no object; a costs file is an object like {\"forward_ms\": 10}");
    }
    std::vector<std::string> known;
    addNames(known, kStageKeys);
    addNames(known, kTimeKeys);
    known.emplace_back(kBandwidth);
    known.emplace_back(kJobs);
    requireKeys(file, known, name_ + ": ", "a costs file");
    for (const auto& [key, value] : file.members) {
      if (key == kJobs) {
        readJobs(value);
      } else if (key == kBandwidth) {
        given_.bandwidth = bandwidthIn(value, failureOf(key));
      } else if (const auto time = memberOf(kTimeKeys, key)) {
        given_.*time = costIn(key, value, failureOf(key));
      } else {
        given_.*memberOf(kStageKeys, key) = valuesIn(key, value);
      }
    }
    return std::move(given_);
  }

 private:
  CostFailure failureOf(const std::string& place) const {
    return
        [this, place](const std::string& what) { throw Error(name_ + ": " + place + " " + what); };
  }

  /// One for all stages, or one for each.
  GivenCosts::Values valuesIn(const std::string& key, const CostJson& value) const {
    if (!value.isA(CostJson::Kind::kArray)) {
      return {costIn(key, value, failureOf(key), " or an array of numbers")};
    }
    if (value.items.empty()) {
      failureOf(key)("is an empty array; give one number per virtual stage");
    }
    GivenCosts::Values values;
    for (const CostJson& item : value.items) {
      const std::string place = key + "[" + std::to_string(values.size()) + "]";
      values.push_back(costIn(key, item, failureOf(place)));
    }
    return values;
  }

  void readJobs(const CostJson& jobs) {
    if (!jobs.isA(CostJson::Kind::kObject)) {
      failureOf(std::string(kJobs))(std::string("is ") + jobs.whatItIs() +
                                    "; it is an object like {\"2F5\": 7.5}");
    }
    std::set<std::string_view> seen;
    for (const auto& [cell, time] : jobs.members) {
      const CostFailure fail = failureOf(cell);
      const std::optional<Action> action = parseAction(cell);
      if (action && action->isPart()) {
        fail("is a part of a backward, which has its share of the whole; give that, and blocks");
      }
      if (!action || isTransfer(action->kind) || isScalarAllReduce(action->kind)) {
        fail("is no job of a plan; those of jobs_ms are like 2F5, 2B5, 2I5, 2W5, 2R5, 2UNSHARD");
      }
      if (!seen.insert(cell).second) fail("occurs twice in jobs_ms");
      given_.jobs.push_back({.action = *action, .time = costIn(kJobs, time, fail)});
    }
  }

  const std::string& name_;
  GivenCosts given_;
};

}  // namespace

GivenCosts readCostsFile(std::string_view text, const std::string& name) {
  return CostsReader(name).read(readCostJson(text, name));
}

std::string toCostsFile(const GivenCosts& given) {
  std::string text;
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += (text.empty() ? "{\n  \"" : ",\n  \"") + std::string(key) + "\": " + value;
  };
  for (const auto& key : kStageKeys) {
    const GivenCosts::Values& values = given.*key.member;
    std::string list;
    for (const std::int64_t value : values) {
      list += (list.empty() ? "" : ", ") +
              (key.name.ends_with("_ms") ? milliseconds(value) : std::to_string(value));
    }
    if (!values.empty()) add(key.name, values.size() == 1 ? list : "[" + list + "]");
  }
  for (const auto& key : kTimeKeys) {
    if (given.*key.member != 0) add(key.name, milliseconds(given.*key.member));
  }
  std::string jobs;
  for (const GivenCosts::JobTime& job : given.jobs) {
    jobs +=
        (jobs.empty() ? "{" : ", ") + ("\"" + toText(job.action) + "\": ") + milliseconds(job.time);
  }
  if (!jobs.empty()) add(kJobs, jobs + "}");
  if (given.bandwidth != 0)
    add(kBandwidth, nlohmann::json(given.bandwidth / kBandwidthUnit).dump());
  return text.empty() ? "{}\n" : text + "\n}\n";
}

}  // namespace pipetrace
