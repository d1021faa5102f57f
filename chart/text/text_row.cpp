#include "chart/text/text_row.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "chart/text/idle_marks.h"

namespace pipetrace {
namespace {

/// The jobs in one column that are too short for a column of their own.
class ShortJobs {
 public:
  void add(char letter, JobKind kind, Nanoseconds duration) {
    loads_[{letter, kind}] += static_cast<double>(duration);
  }
  std::pair<char, JobKind> most(double columnDuration) const {
    double all = 0;
    auto best = loads_.begin();
    for (auto load = loads_.begin(); load != loads_.end(); ++load) {
      all += load->second;
      if (load->second > best->second) best = load;
    }
    if (2 * all < columnDuration) return {TextRow::kShortJobs, TextRow::kIdle};
    return best->first;
  }

 private:
  std::map<std::pair<char, JobKind>, double> loads_;
};

class RowDrawing {
 public:
  RowDrawing(const Track& track, const Track* bubbles, const TextScale& scale,
             const JobText& labels)
      : track_(track), scale_(scale), labels_(labels), idle_(bubbles, scale) {
    row_.kinds.assign(static_cast<std::size_t>(scale.columns), TextRow::kIdle);
    for (int i = 0; i < scale.columns; ++i) {
      row_.text += idle_.markAt(i);
      row_.classes.push_back(idle_.classAt(i));
    }
    if (scale.unit > 0) separateCells();
  }

  TextRow run() {
    for (const Event& job : track_.events) {
      const bool isSeen = job.end > scale_.range.begin && job.begin < scale_.range.end;
      if (isSeen && job.duration() > 0) add(job);
    }
    for (const auto& [column, jobs] : short_) {
      const auto at = static_cast<std::size_t>(column);
      if (row_.kinds[at] != TextRow::kIdle) continue;
      std::tie(row_.text[at], row_.kinds[at]) = jobs.most(scale_.columnDuration());
    }
    return std::move(row_);
  }

 private:
  void separateCells() {
    const int dashes = std::clamp(scale_.cell - 1, 1, 2);
    for (int i = 0; i < scale_.columns; ++i) {
      if (i % scale_.cell >= dashes) row_.text[static_cast<std::size_t>(i)] = ' ';
    }
  }

  void add(const Event& job) {
    if (static_cast<double>(job.duration()) < scale_.columnDuration()) return addShort(job);
    const int left = scale_.columnAt(job.begin);
    const int right = scale_.columnAt(job.end);
    if (left == right) return;  // cut off by the range
    const int width = right - left;
    // The number matters more than the blank after it.
    const bool hasBlank = scale_.unit > 0
                              ? scale_.cell > 1
                              : width > 2 && (labels_.hasNumberIn(track_.rank, job, width - 1) ||
                                              !labels_.hasNumberIn(track_.rank, job, width));
    const int filled = hasBlank ? width - 1 : width;
    std::string text = labels_.fitting(track_.rank, job, filled);
    while (static_cast<int>(text.size()) < filled) text += filling(job, left, text.size());
    if (hasBlank) text += ' ';
    row_.text.replace(static_cast<std::size_t>(left), text.size(), text);
    std::fill(row_.kinds.begin() + left, row_.kinds.begin() + left + filled, job.kind);
    if (hasBlank) row_.kinds[static_cast<std::size_t>(right - 1)] = TextRow::kIdle;
  }

  /// The character that fills up a job. A job that is no work has the mark of the idle time that it
  /// is.
  char filling(const Event& job, int left, std::size_t at) const {
    const int column = left + static_cast<int>(at);
    if (isCompute(job.kind) || idle_.classAt(column) == BubbleClass::kNone) return '=';
    return idle_.markAt(column);
  }

  void addShort(const Event& job) {
    const Nanoseconds middle = job.begin + job.duration() / 2 - scale_.range.begin;
    const int column = static_cast<int>(static_cast<double>(middle) / scale_.columnDuration());
    short_[std::clamp(column, 0, scale_.columns - 1)].add(labels_.letter(job), job.kind,
                                                          job.duration());
  }

  const Track& track_;
  const TextScale& scale_;
  const JobText& labels_;
  IdleMarks idle_;
  TextRow row_;
  std::map<int, ShortJobs> short_;  // by column
};

}  // namespace

void markReductions(TextRow& row, const std::vector<const Event*>& reductions,
                    const TextScale& scale) {
  for (const Event* const reduction : reductions) {
    const std::string_view label = reduction->stage < 0 ? "agr" : "sum";
    // Cells end with a blank.
    const int end = scale.columnAt(reduction->end) - (scale.unit > 0 ? 1 : 0);
    const auto isIdle = [&](int column) {
      const auto at = static_cast<std::size_t>(column);
      return row.kinds[at] == TextRow::kIdle && row.text[at] != TextRow::kShortJobs;
    };
    int from = scale.columnAt(reduction->begin);
    const auto isBlank = [&](int column) {
      return row.text[static_cast<std::size_t>(column)] == ' ';
    };
    while (from < end && (!isIdle(from) || isBlank(from))) ++from;
    for (int column = from; column < std::min(end, from + static_cast<int>(label.size()));
         ++column) {
      if (!isIdle(column)) break;
      const auto at = static_cast<std::size_t>(column);
      row.text[at] = label[static_cast<std::size_t>(column - from)];
      row.kinds[at] = reduction->kind;
    }
  }
}

TextRow textRow(const Track& track, const Track* bubbles, const TextScale& scale,
                const JobText& labels) {
  return RowDrawing(track, bubbles, scale, labels).run();
}

}  // namespace pipetrace
