#include "analysis/present/diff_words.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

std::string jobsText(JobKind kind) {
  const std::string_view plural = rowOf(kind).plural;
  return std::string(plural.empty() ? "jobs" : plural);
}

std::string shareOf(double share) { return fixedText(100 * std::abs(share), 1) + " %"; }

std::string signedShare(double share) {
  const std::string text = shareOf(share);
  return (text == "0.0 %" ? "" : share < 0 ? "-" : "+") + text;
}

std::string signedTime(Nanoseconds time) {
  return (time == 0 ? "" : time < 0 ? "-" : "+") + formatDuration(std::abs(time));
}

std::string takesText(double factor) {
  if (factor >= 2) return "take " + factorText(factor) + " times as long";
  return "take " + shareOf(factor - 1) + (factor < 1 ? " less time" : " longer");
}

std::string intervalText(const std::optional<ConfidenceInterval>& sure, double whole) {
  if (!sure || whole <= 0) return {};
  const auto text = [&](double value) {
    const std::string share = fixedText(100 * value / whole, 1);
    return share == "-0.0" ? std::string("0.0") : share;
  };
  return text(sure->low) + " to " + text(sure->high) + " %";
}

std::string placeText(int stage, int position) {
  if (stage >= 0) return "stage " + std::to_string(stage);
  if (position >= 0) return "position " + std::to_string(position);
  return {};
}

std::string moreText(Nanoseconds time) {
  return formatDuration(std::abs(time)) + (time < 0 ? " less" : " more");
}

std::string partName(const DiffPart& part) {
  const std::string place = placeText(part.stage, part.position);
  if (part.isBusy) return jobsText(part.kind) + (place.empty() ? "" : " of " + place);
  std::string who = place;
  if (part.peer >= 0) {
    who = ranksText({part.rank, part.peer});
  } else if (part.rank >= 0) {
    who = "rank " + std::to_string(part.rank);
  }
  return std::string(bubbleClassName(part.bubbleClass)) + (who.empty() ? "" : " (" + who + ")");
}

std::string changeName(const JobChange& job) {
  const std::string place = placeText(job.stage, job.position);
  return jobsText(job.kind) + (place.empty() ? "" : " of " + place);
}

std::string changeName(const LinkChange& link) {
  return "messages, " + ranksText({link.link.first, link.link.second});
}

std::vector<DiffSum> sumsOf(const RunDiff& diff) {
  std::vector<DiffSum> sums;
  for (const DiffPart& part : diff.parts) {
    const std::string name =
        part.isBusy ? jobsText(part.kind) : std::string(bubbleClassName(part.bubbleClass));
    if (sums.empty() || sums.back().name != name) sums.push_back({.name = name});
    sums.back().a += part.a;
    sums.back().b += part.b;
  }
  if (diff.wall) {
    sums.push_back({"loading data, until next", diff.loads->a, diff.loads->b});
    sums.push_back({"other time until next", diff.between->a - diff.loads->a,
                    diff.between->b - diff.loads->b});
  }
  std::erase_if(sums, [](const DiffSum& sum) { return sum.a == 0 && sum.b == 0; });
  return sums;
}

std::string unitText(const RunDiff& diff) {
  return std::string(diff.wall ? "wall time of a " : "") +
         (diff.how.isPerMicroBatch ? "micro-batch" : "step");
}

std::vector<const DiffPart*> partsThatDiffer(const RunDiff& diff) {
  constexpr Nanoseconds kPartsOfStep = 1000;
  std::vector<const DiffPart*> parts;
  for (const DiffPart& part : diff.parts) {
    const bool isLarge = std::abs(part.difference()) * kPartsOfStep >= diff.step.a;
    const bool isBeyond = !part.sure || part.sure->isBeyondNoise();
    if (part.difference() != 0 && isLarge && isBeyond) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto* x, const auto* y) {
    return std::abs(x->difference()) > std::abs(y->difference());
  });
  return parts;
}

}  // namespace pipetrace
