#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"
#include "trace/clock_skew.h"

namespace pipetrace {

/// Faults as they were typed.
struct FaultOptions {
  std::vector<std::string> scales;    ///< "stage=2:1.3" (schedule/scale/scale_option.h)
  std::vector<std::string> links;     ///< "1-2=4ms"
  std::vector<std::string> delays;    ///< "1F4@2=30ms"
  std::vector<std::string> launches;  ///< "2F5=15ms"
  std::vector<std::string> skews;     ///< "host1=5ms,20ppm"
  bool withoutExchange = false;       ///< the hosts of `skews` do not compare their clocks

  /// Those that change the run with their options: "--scale stage=2:1.3".
  std::vector<std::string> all() const;
};

/// Declares --scale, --link, --delay, --launch, --skew and --no-exchange. `to` must outlive `app`.
void addFaultOptions(CLI::App& app, FaultOptions& to);

/// The costs with the faults of a run of that number of steps. Throws Error, which names the
/// option, for a text that is no such fault. It does so too for stages, ranks, jobs and steps that
/// the plan does not have, for links that no message takes, and for a link given twice. Factors of
/// one thing multiply, those of a link what --link gives it; times of one job add up.
Costs withFaults(const FaultOptions& options, const Plan& plan, int steps, Costs costs);

/// The hosts of `options.skews` by rank; empty where there are none. The ranks are split evenly
/// over the hosts, in their order. The ranks before a single host are on "host0", whose clock is
/// right. Throws Error, which names the option.
std::vector<MadeUpHost> madeUpHosts(const FaultOptions& options, int numRanks);

}  // namespace pipetrace
