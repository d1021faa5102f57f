#include "analysis/page/diff_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "analysis/page/page.h"
#include "analysis/page/page_table.h"
#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_words.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostDiffPageRows = 400;

const char* unitName(const RunDiff& diff) {
  return diff.how.isPerMicroBatch ? "micro-batch" : "step";
}

std::string noteOfRows(std::size_t shown, std::size_t all, const char* what) {
  if (shown >= all) return {};
  return "<p class=\"note\">The " + std::to_string(shown) + " of " + std::to_string(all) + " " +
         what + "; <code>pipe-trace diff --json</code> has all.</p>\n";
}

PageCell signedShareCell(double share) { return {signedShare(share), share}; }

/// The cell with a bar from the middle: to the right what takes longer, to the left what takes less
/// time.
PageCell withBar(PageCell cell, double largest) {
  const double share = largest > 0 ? std::clamp(cell.number / largest, -1.0, 1.0) : 0;
  char style[96];
  std::snprintf(style, sizeof style, "left:%.2f%%;width:%.2f%%", 50 + std::min(share, 0.0) * 50,
                std::abs(share) * 50);
  cell.html = "<span class=\"change\"><i class=\"" + std::string(share < 0 ? "less" : "more") +
              "\" style=\"" + style + "\"></i></span>" + htmlText(cell.text);
  return cell;
}

PageCell differenceCell(Nanoseconds time, double largest) {
  PageCell cell = timeCell(time);
  cell.text = signedTime(time);
  return withBar(std::move(cell), largest);
}

/// The interval of a difference, sorted by its low end.
PageCell intervalCell(const std::optional<ConfidenceInterval>& sure) {
  if (!sure) return {"-", 0};
  const auto low = static_cast<Nanoseconds>(std::llround(sure->low));
  const auto high = static_cast<Nanoseconds>(std::llround(sure->high));
  return {signedTime(low) + " to " + signedTime(high), sure->low};
}

constexpr const char* kBarHint = "bar to the right: longer in B; to the left: shorter";

/// The shortest time whose bar may be as long as bars are: less is not worth a look.
double leastBar(const RunDiff& diff) {
  return RunDiff::kLeastChange * static_cast<double>(diff.unit().a);
}

template <typename List, typename TimeOf>
double largestOf(const List& list, const TimeOf& timeOf, double least) {
  double largest = least;
  for (const auto& each : list) {
    largest = std::max(largest, std::abs(static_cast<double>(timeOf(each))));
  }
  return largest;
}

/// A row of jobs or messages.
struct LengthRow {
  std::string name;
  double a = 0;
  double b = 0;
  std::optional<ConfidenceInterval> sure;
  bool isClear = false;

  double change() const { return ratio(b - a, a); }
};

std::vector<LengthRow> lengthRows(const RunDiff& diff) {
  std::vector<LengthRow> rows;
  for (const JobChange& job : diff.jobs) {
    rows.push_back({changeName(job), job.a, job.b, job.sure, job.isClear});
  }
  for (const LinkChange& link : diff.links) {
    rows.push_back({changeName(link), link.a, link.b, link.sure, link.isClear});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const LengthRow& x, const LengthRow& y) {
    return std::pair(!x.isClear, -std::abs(x.change())) <
           std::pair(!y.isClear, -std::abs(y.change()));
  });
  return rows;
}

}  // namespace

std::string reasonTableHtml(const RunDiff& diff) {
  if (!diff.how.refusal.empty()) return {};
  std::vector<DiffReason> reasons = reasonsOf(diff);
  std::erase_if(reasons, [](const DiffReason& each) { return each.time == 0; });
  const auto difference = static_cast<double>(diff.unit().difference());
  const bool isNoise = diff.unit().sure && !diff.unit().sure->isBeyondNoise();
  const double largest = largestOf(
      reasons, [](const DiffReason& each) { return each.time; }, leastBar(diff));
  PageTable table(
      "what explains the difference",
      {{"reason", false}, {"time", true, kBarHint}, {"share", true, "of the difference"}});
  for (const DiffReason& each : reasons) {
    if (table.rows() == kMostDiffPageRows) break;
    const double share = difference == 0 ? 0 : static_cast<double>(each.time) / difference;
    table.addRow({{each.text},
                  differenceCell(each.time, largest),
                  isNoise ? PageCell{"-", 0} : signedShareCell(share)});
  }
  if (table.empty()) return {};
  return "<p>They add up to the difference of the " + unitText(diff) + ", " +
         signedTime(diff.unit().difference()) +
         (isNoise ? ", which is within noise.</p>\n" : ". What is above 0 makes B slower.</p>\n") +
         table.html() + noteOfRows(table.rows(), reasons.size(), "largest reasons");
}

std::string sumTableHtml(const RunDiff& diff) {
  const std::vector<DiffSum> sums = sumsOf(diff);
  if (sums.empty()) return {};
  const std::string unit = unitName(diff);
  const double largest = largestOf(
      sums, [](const DiffSum& sum) { return sum.b - sum.a; }, leastBar(diff));
  PageTable table(
      "what a " + unit + " consists of",
      {{"time", false}, {"A"}, {"B"}, {"difference", true, kBarHint}, {"of A's " + unit}});
  const auto add = [&](const std::string& name, Nanoseconds a, Nanoseconds b) {
    table.addRow(
        {{name},
         timeCell(a),
         timeCell(b),
         differenceCell(b - a, largest),
         signedShareCell(ratio(static_cast<double>(b - a), static_cast<double>(diff.unit().a)))});
  };
  for (const DiffSum& sum : sums) add(sum.name, sum.a, sum.b);
  add("the " + unitText(diff), diff.unit().a, diff.unit().b);
  return std::string("<p>Means over ranks and steps: jobs, idle time by cause") +
         (diff.wall ? ", then the time until the next step begins" : "") + ".</p>\n" + table.html();
}

std::string partTableHtml(const RunDiff& diff) {
  const std::vector<const DiffPart*> parts = partsThatDiffer(diff);
  if (parts.empty()) return {};
  const double largest =
      std::max(std::abs(static_cast<double>(parts.front()->difference())), leastBar(diff));
  PageTable table("parts that differ",
                  {{"part", false},
                   {"A"},
                   {"B"},
                   {"difference", true, kBarHint},
                   {"95 % of it", true, "how sure the difference is; sorts by the lower end"}});
  for (const DiffPart* const part : parts) {
    if (table.rows() == kMostDiffPageRows) break;
    table.addRow({{partName(*part)},
                  timeCell(part->a),
                  timeCell(part->b),
                  differenceCell(part->difference(), largest),
                  intervalCell(part->sure)});
  }
  return std::string(diff.isNoiseKnown()
                         ? "<p>Those beyond noise"
                         : "<p>A run has one step only, so nobody knows what is noise") +
         "; in brackets: who is to blame.</p>\n" + table.html() +
         noteOfRows(table.rows(), parts.size(), "largest parts");
}

std::string lengthTableHtml(const RunDiff& diff) {
  const std::vector<LengthRow> rows = lengthRows(diff);
  if (rows.empty()) return {};
  const double largest = largestOf(
      rows, [](const LengthRow& row) { return row.change(); }, RunDiff::kLeastChange);
  PageTable table(
      "lengths of jobs and messages",
      {{"mean length", false},
       {"A"},
       {"B"},
       {"change", true, kBarHint},
       {"95 % of it", true, "how sure the change is; sorts by the lower end"},
       diff.isNoiseKnown()
           ? PageTable::Column{"beyond noise", false, "of all that is compared, and 1 % or more"}
           : PageTable::Column{"1 % or more", false}});
  for (const LengthRow& row : rows) {
    if (table.rows() == kMostDiffPageRows) break;
    const std::string interval = intervalText(row.sure, row.a);
    table.addRow({{row.name},
                  timeCell(std::llround(row.a)),
                  timeCell(std::llround(row.b)),
                  row.a > 0 ? withBar(signedShareCell(row.change()), largest) : PageCell{"-", 0},
                  {interval.empty() ? "-" : interval, row.sure ? row.sure->low : 0},
                  {row.isClear ? "yes" : "no"}});
  }
  return std::string("<p>All that is in both runs, ") +
         (diff.isNoiseKnown()
              ? "clear changes first. One of less than 1 % is never clear."
              : "changes of 1 % or more first. A run has one step only, so nobody knows what is "
                "noise.") +
         "</p>\n" + table.html() + noteOfRows(table.rows(), rows.size(), "largest changes");
}

}  // namespace pipetrace
