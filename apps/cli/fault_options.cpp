#include "apps/cli/fault_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "schedule/file/schedule_file.h"
#include "schedule/scale/scale_option.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr const char* kScale = "--scale";
constexpr const char* kLink = "--link";
constexpr const char* kDelay = "--delay";
constexpr const char* kLaunch = "--launch";
constexpr const char* kSkew = "--skew";
constexpr const char* kGroup = "Faults (each may be given several times)";

[[noreturn]] void refuse(const char* option, const std::string& text, const std::string& why) {
  throw Error(fmt::format("{} {}: {}", option, text, why));
}

/// The two sides of the last `=`, the time after it.
std::pair<std::string, Nanoseconds> namedTime(const char* option, const std::string& text,
                                              const char* example) {
  const std::size_t at = text.rfind('=');
  const auto time =
      at == std::string::npos ? std::nullopt : parseTime(std::string_view(text).substr(at + 1));
  if (!time) refuse(option, text, fmt::format("write it as {}, with ns, us, ms or s", example));
  return {text.substr(0, at), *time};
}

Faults::Link link(const std::string& text, const Plan& plan) {
  const Faults::Link parsed = parseLink(text);
  for (const int each : {parsed.rank, parsed.peer}) {
    if (each >= plan.numRanks()) {
      refuse(kLink, text, fmt::format("the plan has ranks 0 to {}", plan.numRanks() - 1));
    }
  }
  if (!exchangeMessages(plan, parsed.rank, parsed.peer)) {
    refuse(kLink, text,
           fmt::format("no message moves between ranks {} and {}", parsed.rank, parsed.peer));
  }
  return parsed;
}

bool isIn(const Plan& plan, const Action& action) {
  return std::any_of(plan.ranks.begin(), plan.ranks.end(), [&](const auto& row) {
    return std::find(row.begin(), row.end(), action) != row.end();
  });
}

/// The fused pair that the forward or backward is a part of, or null.
const Action* pairWith(const Plan& plan, const Action& part) {
  for (const auto& row : plan.ranks) {
    for (const Action& each : row) {
      if (each.kind != JobKind::kForwardBackward) continue;
      const bool isForward = part.kind == JobKind::kForward && each.stage == part.stage &&
                             each.microBatch == part.microBatch;
      const bool isBackward = part.kind == JobKind::kBackward && each.backwardStage == part.stage &&
                              each.backwardMicroBatch == part.microBatch;
      if (isForward || isBackward) return &each;
    }
  }
  return nullptr;
}

/// "1F4" or "1F4@2": a job, in every step or in one.
Faults::Job jobOf(const char* option, const std::string& text, std::string name, const Plan& plan,
                  int steps) {
  Faults::Job job;
  if (const std::size_t at = name.find('@'); at != std::string::npos) {
    const auto step = parseNumber<int>(std::string_view(name).substr(at + 1));
    if (!step || *step < 0) refuse(option, text, "after the @ stands the number of a step");
    if (*step >= steps) {
      refuse(option, text,
             steps == 1 ? std::string("there is step 0 only; --steps N makes more")
                        : fmt::format("the steps are 0 to {}", steps - 1));
    }
    job.step = *step;
    name.resize(at);
  }
  try {
    const Plan one = readPlan(name, name);
    if (one.ranks.size() == 1 && one.ranks.front().size() == 1) {
      job.action = one.ranks.front().front();
    }
  } catch (const Error&) {
    refuse(option, text, name + " is no job; write it as a plan does, as 1F4 or 2B0");
  }
  if (isCompute(job.action.kind) && isIn(plan, job.action)) return job;
  if (const Action* const pair = pairWith(plan, job.action)) {
    refuse(option, text,
           fmt::format("{} is no job of its own in this plan; write the fused pair that holds it: "
                       "'{}'",
                       name, toText(*pair)));
  }
  refuse(option, text, fmt::format("the plan has no job {}", name));
}

/// The links from `measured` on are of options. Throws Error for a second one between the same two
/// ranks.
void addLink(const std::string& text, const Plan& plan, std::size_t measured, Costs& costs) {
  const Faults::Link added = link(text, plan);
  for (std::size_t i = measured; i < costs.faults.links.size(); ++i) {
    const Faults::Link& other = costs.faults.links[i];
    if (std::minmax(other.rank, other.peer) != std::minmax(added.rank, added.peer)) continue;
    refuse(kLink, text,
           fmt::format("the link between ranks {} and {} is given twice; it is one for both ways",
                       other.rank, other.peer));
  }
  costs.faults.links.push_back(added);
}

/// "20ppm" in thousandths of a ppm. Clocks that are off by over 1000 ppm are broken.
std::optional<std::int64_t> driftOf(std::string_view text) {
  constexpr std::string_view kUnit = "ppm";
  constexpr std::int64_t kMost = 1'000'000;
  if (!text.ends_with(kUnit)) return std::nullopt;
  const auto drift = parseDecimalTime(text.substr(0, text.size() - kUnit.size()), 1000);
  return drift && *drift <= kMost && *drift >= -kMost ? drift : std::nullopt;
}

bool isHostName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

MadeUpHost skewedHost(const std::string& text) {
  // A day: clocks that are farther apart are not the same run's.
  constexpr Nanoseconds kFarthest = 86'400 * kNsPerSecond;
  const std::string_view all(text);
  const std::size_t equals = std::min(all.find('='), all.size());
  const std::size_t comma = std::min(all.find(',', equals), all.size());
  const bool hasDrift = comma < all.size();
  const auto offset = parseSignedTime(all.substr(std::min(equals + 1, comma), comma - equals - 1));
  const auto drift = hasDrift ? driftOf(all.substr(comma + 1)) : 0;
  if (equals == all.size() || !isHostName(all.substr(0, equals)) || !offset || !drift) {
    refuse(kSkew, text,
           "write it as host1=5ms or host1=-5ms,20ppm, with ns, us, ms or s and at most 1000 ppm");
  }
  if (*offset > kFarthest || *offset < -kFarthest) refuse(kSkew, text, "that is over a day");
  return {std::string(all.substr(0, equals)), {.offset = *offset, .drift = *drift}};
}

}  // namespace

std::vector<std::string> FaultOptions::all() const {
  std::vector<std::string> list;
  const auto add = [&](const char* option, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) list.push_back(fmt::format("{} {}", option, text));
  };
  add(kScale, scales);
  add(kLink, links);
  add(kDelay, delays);
  add(kLaunch, launches);
  return list;
}

void addFaultOptions(CLI::App& app, FaultOptions& to) {
  const auto add = [&](const char* name, std::vector<std::string>& list, const char* type,
                       const char* what) {
    app.add_option(name, list, what)->type_name(type)->allow_extra_args(false)->group(kGroup);
  };
  add(kScale, to.scales, "WHAT:FACTOR",
      "All jobs of a stage (stage=2:1.3), of a rank (rank=5:0.9) or of a kind (kind=backward:1.2), "
      "or the messages of two ranks (link=1-2:0.5) take FACTOR times as long");
  add(kLink, to.links, "R-R=TIME", "A message between two ranks takes TIME (1-2=4ms)");
  add(kDelay, to.delays, "JOB[@STEP]=TIME",
      "A job takes TIME longer (1F4@2=30ms), in one step or in each");
  add(kLaunch, to.launches, "JOB[@STEP]=TIME",
      "A job begins TIME after it could (2F5=15ms), in one step or in each");
  add(kSkew, to.skews, "HOST=TIME[,PPM]",
      "Ranks of a made-up host log by a clock that is wrong (host1=5ms,20ppm); the hosts share the "
      "ranks evenly, in their order");
  app.add_flag("--no-exchange", to.withoutExchange, "The made-up hosts do not compare their clocks")
      ->needs(app.get_option(kSkew))
      ->group(kGroup);
}

Costs withFaults(const FaultOptions& options, const Plan& plan, int steps, Costs costs) {
  const std::size_t measured = costs.faults.links.size();
  for (const std::string& text : options.links) addLink(text, plan, measured, costs);
  std::vector<ScaleOption> scales;
  for (const std::string& text : options.scales) scales.push_back(parseScale(text));
  applyScales(scales, plan, costs);
  for (const std::string& text : options.delays) {
    const auto [name, time] = namedTime(kDelay, text, "1F4@2=30ms");
    costs.faults.jobs.push_back(jobOf(kDelay, text, name, plan, steps));
    costs.faults.jobs.back().longer = time;
  }
  for (const std::string& text : options.launches) {
    const auto [name, time] = namedTime(kLaunch, text, "2F5=15ms");
    costs.faults.jobs.push_back(jobOf(kLaunch, text, name, plan, steps));
    costs.faults.jobs.back().late = time;
  }
  return costs;
}

std::vector<MadeUpHost> madeUpHosts(const FaultOptions& options, int numRanks) {
  std::vector<MadeUpHost> hosts;
  if (options.skews.size() == 1) hosts.push_back({.name = "host0", .skew = {}});
  for (const std::string& text : options.skews) {
    hosts.push_back(skewedHost(text));
    const auto isNamesake = [&](const MadeUpHost& host) { return host.name == hosts.back().name; };
    if (std::count_if(hosts.begin(), hosts.end(), isNamesake) > 1) {
      refuse(kSkew, text,
             options.skews.size() == 1 ? "host0 is the one whose clock is right; take another name"
                                       : "this host is there already");
    }
  }
  if (hosts.empty()) return {};
  if (std::cmp_greater(hosts.size(), numRanks)) {
    refuse(kSkew, options.skews.back(),
           fmt::format("there are {} hosts, and {} for them", hosts.size(),
                       countText(numRanks, "rank")));
  }
  std::vector<MadeUpHost> byRank;
  for (int rank = 0; rank < numRanks; ++rank) {
    byRank.push_back(
        hosts[static_cast<std::size_t>(rank) * hosts.size() / static_cast<std::size_t>(numRanks)]);
  }
  return byRank;
}

}  // namespace pipetrace
