#include "analysis/present/alignment_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/present/text_table.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

std::string nameOf(AlignBy by) {
  switch (by) {
    case AlignBy::kLog: return "log";
    case AlignBy::kCausal: return "causal";
    default: return "none";
  }
}

std::string sentence(const Alignment& alignment) {
  if (alignment.hosts.size() < 2) return "all ranks are on one host";
  const std::string first = "times are in the clock of " + alignment.hosts.front().host;
  if (alignment.by == AlignBy::kLog) return first + ", by what the logs know of the clocks";
  if (alignment.by == AlignBy::kCausal) return first + ", by the order of messages";
  return "times are as logged";
}

std::string signedDuration(Nanoseconds time) {
  return (time < 0 ? "-" : "") + formatDuration(std::abs(time));
}

std::string ppm(double drift) {
  const double shown = std::abs(drift) < 0.005 ? 0 : drift;
  return fixedText(shown, 2) + " ppm";
}

}  // namespace

std::string alignmentText(const Alignment& alignment) {
  TextTable table({"host", "ranks", "offset", "drift", "exact to", "messages", "early as logged",
                   "early now", "by up to"});
  for (const HostAlignment& host : alignment.hosts) {
    table.addRow({host.host, std::to_string(host.ranks.size()), signedDuration(host.offset),
                  ppm(host.drift), host.bound ? formatDuration(*host.bound) : "-",
                  std::to_string(host.messages), std::to_string(host.violationsBefore),
                  std::to_string(host.violationsAfter), formatDuration(host.residual)});
  }
  return table.toText() + fitLine(sentence(alignment));
}

std::string alignmentJson(const Alignment& alignment) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const HostAlignment& host : alignment.hosts) {
    nlohmann::ordered_json bound;
    if (host.bound) bound = *host.bound;
    hosts.push_back({{"host", host.host},
                     {"ranks", host.ranks},
                     {"offset_ns", host.offset},
                     {"drift_ppm", host.drift},
                     {"bound_ns", bound},
                     {"messages", host.messages},
                     {"early_as_logged", host.violationsBefore},
                     {"early", host.violationsAfter},
                     {"residual_ns", host.residual}});
  }
  const nlohmann::ordered_json whole = {{"by", nameOf(alignment.by)}, {"hosts", hosts}};
  return whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
