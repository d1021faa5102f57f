#include <algorithm>

#include "analysis/report/plan_report.h"
#include "analysis/report/text_table.h"
#include "schedule/partition/partition_text.h"
#include "trace/text/bytes_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/folded_line.h"

namespace pipetrace {
namespace {

std::string blockNumbers(int first, int count) {
  return std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

std::string cutTable(const BlockPartition& partition) {
  TextTable table({"stage", "blocks", "number", "run again", "recompute ratio"});
  int first = 0;
  for (std::size_t s = 0; s < partition.blocks.size(); ++s) {
    const int count = partition.blocks[s];
    const int again = partition.recomputedOf(static_cast<int>(s));
    table.addRow({std::to_string(s), blockNumbers(first, count), std::to_string(count),
                  std::to_string(again), recomputeRatio(again, count)});
    first += count;
  }
  return table.toText();
}

std::string stepText(const FoundPartition& best, const FoundPartition& even) {
  const std::string text = "step " + formatDuration(best.step) + ", ";
  if (even.excess > 0) {
    return text + "the even partition exceeds the limit by " + bytesText(even.excess);
  }
  const std::string less =
      best.step < even.step ? percentText(even.step - best.step, even.step) + " less than" : "as";
  return text + less + " the even partition's " + formatDuration(even.step);
}

}  // namespace

std::string partitionText(const BestPartition& partition, int width) {
  const FoundPartition& best = partition.best;
  const std::string text = stepText(best, partition.even) +
                           (partition.isProven ? "; no partition has a shorter one"
                                               : "; the shortest one found, not all were tried");
  return cutTable(best.partition) + foldedLine(text, static_cast<std::size_t>(std::max(width, 0))) +
         "\n";
}

}  // namespace pipetrace
