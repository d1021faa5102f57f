#include "chart/text/text_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chart/text/bubble_text.h"
#include "chart/time_ticks.h"
#include "trace/error.h"
#include "trace/log/fused_pair.h"
#include "trace/log/log_format.h"
#include "trace/text/decimal_time.h"
#include "trace/text/folded_line.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

/// The texts of jobs in a chart of characters: "F3", "B3", "I3", "W3", both halves of a fused pair
/// ("F7+B3"), or a short name ("opt"). Letters of odd chunks are lower case. Where a rank has more
/// than two chunks the stage comes first ("5f3"). ASCII. Refers to the timeline.
class JobText {
 public:
  explicit JobText(const Timeline& timeline);

  /// The longest form, as described above.
  std::string whole(int rank, const Event& job) const;
  /// The longest form of at most `width` characters, which is at least 1. The shortest is the
  /// letter.
  std::string fitting(int rank, const Event& job, int width) const;
  /// Whether fitting() shows all micro-batches of the job in that many characters. True for a job
  /// without any.
  bool hasNumberIn(int rank, const Event& job, int width) const;
  /// The letter of the job's kind; '&' for a fused pair.
  char letter(const Event& job) const;

  /// The largest number of chunks of a rank; 1 if no job names a chunk.
  int chunks() const { return chunks_; }

 private:
  std::string numbered(char letter, int stage, int chunk, int microBatch) const;
  /// The shortest text with all micro-batches of a job that has any.
  std::string shortest(int rank, const Event& job) const;
  std::string fused(int rank, const Event& job, const char* between) const;

  const Timeline& timeline_;
  int chunks_ = 1;
  std::map<std::pair<int, int>, int> chunkOf_;  // by rank and stage
};

/// The text that stands for a kind.
std::string_view briefOf(JobKind kind) {
  const std::string_view brief = rowOf(kind).brief;
  return brief.empty() ? "?" : brief;
}

/// The letter of the same kind for odd chunks of a rank.
char lowerCase(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// The letter of a kind in a chart of characters: '&' for a fused pair, '?' for a kind without one.
char letterOf(JobKind kind) {
  const char first = briefOf(kind).front();
  return first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
}

JobText::JobText(const Timeline& timeline) : timeline_(timeline) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind) || event.stage < 0 || event.chunk < 0) continue;
      chunkOf_[{track.rank, event.stage}] = event.chunk;
      chunks_ = std::max(chunks_, event.chunk + 1);
    }
  }
}

std::string JobText::numbered(char letter, int stage, int chunk, int microBatch) const {
  std::string text;
  if (chunks_ > 2 && stage >= 0) text += std::to_string(stage);
  text += chunk > 0 && chunk % 2 == 1 ? lowerCase(letter) : letter;
  if (microBatch >= 0) text += std::to_string(microBatch);
  return text;
}

std::string JobText::fused(int rank, const Event& job, const char* between) const {
  const std::optional<FusedPair> pair = fusedPairOf(timeline_, job);
  if (!pair) return numbered('&', job.stage, job.chunk, job.microBatch);
  const auto chunkOf = [&](int stage) {
    const auto found = chunkOf_.find({rank, stage});
    return found == chunkOf_.end() ? 0 : found->second;
  };
  return numbered('F', pair->forwardStage, chunkOf(pair->forwardStage), pair->forwardMicroBatch) +
         between +
         numbered('B', pair->backwardStage, chunkOf(pair->backwardStage), pair->backwardMicroBatch);
}

std::string JobText::whole(int rank, const Event& job) const {
  if (job.kind == JobKind::kForwardBackward) return fused(rank, job, "+");
  if (!isCompute(job.kind)) return std::string(briefOf(job.kind));
  return numbered(letterOf(job.kind), job.stage, job.chunk, job.microBatch);
}

std::string JobText::fitting(int rank, const Event& job, int width) const {
  const auto fits = [width](const std::string& text) {
    return static_cast<int>(text.size()) <= width;
  };
  if (std::string text = whole(rank, job); fits(text)) return text;
  if (std::string text = shortest(rank, job); fits(text)) return text;
  return std::string(1, letter(job));
}

std::string JobText::shortest(int rank, const Event& job) const {
  if (job.kind == JobKind::kForwardBackward) return fused(rank, job, "");
  std::string text(1, letter(job));
  if (isCompute(job.kind) && job.microBatch >= 0) text += std::to_string(job.microBatch);
  return text;
}

bool JobText::hasNumberIn(int rank, const Event& job, int width) const {
  return !isCompute(job.kind) || job.microBatch < 0 ||
         static_cast<int>(shortest(rank, job).size()) <= width;
}

char JobText::letter(const Event& job) const {
  const char letter = letterOf(job.kind);
  const bool isOdd = isCompute(job.kind) && job.chunk > 0 && job.chunk % 2 == 1;
  return isOdd ? lowerCase(letter) : letter;
}

/// The scale of a text chart: which time each column stands for.
struct TextScale {
  Timeline::Span range;  ///< not empty
  int columns = 1;
  /// The unit of which all times are multiples; 0 if there is none. A unit is a cell of `cell`
  /// columns, the last of them blank.
  Nanoseconds unit = 0;
  int cell = 0;
  /// The time from the start of the chart to `range`. Labels count from the start of the chart.
  Nanoseconds before = 0;

  /// The column whose left edge is nearest to `time`, 0 .. columns. A time outside the range gives
  /// the first or the last.
  int columnAt(Nanoseconds time) const;
  /// The time that a column covers, in ns; not a whole number.
  double columnDuration() const;
};

constexpr std::size_t kTickGap = 2;  // blanks between a label and the next mark

struct Mark {
  int column = 0;
  std::string label;
};

/// The resolution of labels that are `distance` apart: 100 us for 2.5 ms. It is at least 1 % of the
/// distance, or odd units would fill the labels with digits.
Nanoseconds resolutionOf(Nanoseconds distance) {
  Nanoseconds power = 1;
  while (distance % (power * 10) == 0 || power < distance / 100) power *= 10;
  return power;
}

std::vector<Mark> marksEvery(const TextScale& scale, Nanoseconds distance) {
  std::vector<Mark> marks;
  const Nanoseconds end = scale.before + (scale.range.end - scale.range.begin);
  const Nanoseconds resolution = resolutionOf(distance);
  const Nanoseconds past = scale.before % distance;
  for (Nanoseconds time = past == 0 ? scale.before : scale.before - past + distance;;
       time += distance) {
    const int column = scale.columnAt(scale.range.begin + (time - scale.before));
    if (column < scale.columns) marks.push_back({column, timeLabel(time, end, resolution)});
    if (time > end - distance) return marks;
  }
}

bool leaveRoom(const std::vector<Mark>& marks) {
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const auto room = static_cast<std::size_t>(marks[i + 1].column - marks[i].column);
    if (1 + marks[i].label.size() + kTickGap > room) return false;
  }
  return true;
}

int TextScale::columnAt(Nanoseconds time) const {
  const Nanoseconds since = std::clamp(time, range.begin, range.end) - range.begin;
  if (unit > 0) return static_cast<int>(since / unit) * cell;
  const double share = static_cast<double>(since) / static_cast<double>(range.end - range.begin);
  return static_cast<int>(share * columns + 0.5);
}

double TextScale::columnDuration() const {
  return static_cast<double>(range.end - range.begin) / columns;
}

/// The line of labels above the columns: "|0      |10 ms". Their distance is round (1, 2 or 5 times
/// a power of ten ns, or of units if there are any) and leaves room for them.
std::string axisText(const TextScale& scale) {
  const Nanoseconds length = scale.range.end - scale.range.begin;
  const Nanoseconds base = std::max<Nanoseconds>(scale.unit, 1);
  // No more marks than columns: a shorter distance cannot leave room.
  Nanoseconds power = base;
  while (power <= length / scale.columns / 10) power *= 10;
  std::vector<Mark> marks;
  bool done = false;
  while (!done && power <= kNsMax / 100) {
    for (const int mantissa : {1, 2, 5}) {
      marks = marksEvery(scale, mantissa * power);
      done = leaveRoom(marks);
      if (done) break;
    }
    power *= 10;
  }
  std::string text;
  for (const Mark& mark : marks) {
    const auto column = static_cast<std::size_t>(mark.column);
    const bool fits = mark.column + 1 + static_cast<int>(mark.label.size()) <= scale.columns;
    if (column < text.size()) continue;
    text.append(column - text.size(), ' ');
    text += "|" + (fits ? mark.label : "");
  }
  return text;
}

/// The class of idle time in each column of a text chart: the one with the most time in it. A
/// column of a cell has that of the cell.
class IdleMarks {
 public:
  /// `bubbles`: the rank's lane of bubbles; nullptr: no idle time has a class.
  IdleMarks(const Track* bubbles, const TextScale& scale);

  /// kNone where no time has a class.
  BubbleClass classAt(int column) const;
  /// The character for a column without a job. Blank where a rank with bubbles has none: that time
  /// belongs to no step.
  char markAt(int column) const;

 private:
  int cell_;                          // columns of a slot
  std::vector<BubbleClass> classes_;  // by slot; empty: there are no bubbles
};

using Times = std::array<double, kBubbleClassCount>;

/// Adds the time of the bubble to each slot that it reaches into.
void add(std::vector<Times>& slots, const Event& bubble, const TextScale& scale, double slot) {
  const Nanoseconds begin = std::max(bubble.begin, scale.range.begin);
  const Nanoseconds end = std::min(bubble.end, scale.range.end);
  if (begin >= end) return;
  const auto from = static_cast<double>(begin - scale.range.begin);
  const auto to = static_cast<double>(end - scale.range.begin);
  const auto first = static_cast<std::size_t>(from / slot);
  for (std::size_t i = first; i < slots.size(); ++i) {
    const double left = std::max(from, static_cast<double>(i) * slot);
    const double right = std::min(to, static_cast<double>(i + 1) * slot);
    if (right <= left && i > first) return;
    slots[i][static_cast<std::size_t>(bubble.bubbleClass)] += std::max(right - left, 0.0);
  }
}

BubbleClass mostOf(const Times& times) {
  const auto most = std::max_element(times.begin(), times.end());
  return *most > 0 ? static_cast<BubbleClass>(most - times.begin()) : BubbleClass::kNone;
}

IdleMarks::IdleMarks(const Track* bubbles, const TextScale& scale)
    : cell_(scale.unit > 0 ? scale.cell : 1) {
  if (bubbles == nullptr) return;
  const double slot = scale.unit > 0 ? static_cast<double>(scale.unit) : scale.columnDuration();
  std::vector<Times> times(static_cast<std::size_t>((scale.columns + cell_ - 1) / cell_), Times{});
  for (const Event& bubble : bubbles->events) add(times, bubble, scale, slot);
  classes_.reserve(times.size());
  for (const Times& slotTimes : times) classes_.push_back(mostOf(slotTimes));
}

BubbleClass IdleMarks::classAt(int column) const {
  if (classes_.empty()) return BubbleClass::kNone;
  return classes_[static_cast<std::size_t>(column / cell_)];
}

char IdleMarks::markAt(int column) const {
  const BubbleClass found = classAt(column);
  return found == BubbleClass::kNone && !classes_.empty() ? ' ' : rowOf(found).mark;
}

/// A row of a text chart: the compute jobs of one rank.
struct TextRow {
  static constexpr JobKind kIdle = JobKind::kBubble;
  static constexpr char kShortJobs = ':';  ///< mostly idle time, and jobs too short to show

  std::string text;            ///< one character a column
  std::vector<JobKind> kinds;  ///< the kind in each column; kIdle: no job
  /// The class of the idle time in each column, also behind jobs that are no work; kNone: of none.
  std::vector<BubbleClass> classes;
};

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

/// Marks all-reduces in the idle time of a row, as far as there is room. "sum": gradients of a
/// stage are added up. "agr": it names no stage, and all ranks agree.
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

/// Draws the jobs of `track` as described at textChart(), with the rank's `bubbles` (nullptr: there
/// are none) where it has none.
TextRow textRow(const Track& track, const Track* bubbles, const TextScale& scale,
                const JobText& labels) {
  return RowDrawing(track, bubbles, scale, labels).run();
}

// More cells than this make no legible chart.
constexpr Nanoseconds kMostCells = 20'000;
// A wrapped chart with more lines than this shows less than one that is scaled.
constexpr Nanoseconds kMostLines = 200;

/// The lane of each rank with the most compute time. Ranks without compute jobs are left out.
std::vector<const Track*> workLanes(const Timeline& timeline) {
  struct Lane {
    const Track* track = nullptr;
    std::ptrdiff_t jobs = 0;
  };
  std::map<int, Lane> lanes;
  for (const Track& track : timeline.tracks) {
    const auto jobs = std::count_if(track.events.begin(), track.events.end(),
                                    [](const Event& event) { return isCompute(event.kind); });
    Lane& lane = lanes[track.rank];
    if (jobs > lane.jobs) lane = {&track, jobs};
  }
  std::vector<const Track*> tracks;
  for (const auto& [rank, lane] : lanes) {
    if (lane.track != nullptr) tracks.push_back(lane.track);
  }
  return tracks;
}

Timeline::Span spanOf(const std::vector<const Track*>& tracks) {
  Timeline::Span span{kNsMax, kNsMin};
  for (const Track* track : tracks) {
    for (const Event& event : track->events) {
      span.begin = std::min(span.begin, event.begin);
      span.end = std::max(span.end, event.end);
    }
  }
  return span;
}

class TextChart {
 public:
  TextChart(const Timeline& timeline, const TextChartOptions& options)
      : timeline_(timeline),
        tracks_(workLanes(timeline)),
        labels_(timeline),
        colors_(options.colors),
        width_(static_cast<std::size_t>(std::max(options.width, 0))) {
    checkWidth(options.width);
    scale_.range = options.range.value_or(tracks_.empty() ? Timeline::Span{} : spanOf(tracks_));
    if (scale_.range.begin >= scale_.range.end || !hasWork()) {
      throw Error("there is no forward or backward job to draw");
    }
    labelWidth_ = 1 + (tracks_.empty() ? 0 : static_cast<int>(rankLabel(*tracks_.back()).size()));
    scale_.columns = std::max(1, options.width - labelWidth_);
    lineColumns_ = scale_.columns;
    chooseScale();
  }

  std::string run() const {
    std::vector<TextRow> rows;
    for (const Track* track : tracks_) {
      rows.push_back(
          textRow(*track, timeline_.findTrack(track->rank, kBubbleLane), scale_, labels_));
      markReductions(rows.back(), reductionsOf(track->rank), scale_);
    }
    std::string text;
    for (int first = 0; first < scale_.columns; first += lineColumns_) {
      if (first > 0) text += "\n";
      addPart(text, rows, first);
    }
    return text + legend(rows);
  }

 private:
  /// The all-reduces in the range whose members the log names: sums of gradients.
  std::vector<const Event*> reductionsOf(int rank) const {
    std::vector<const Event*> reductions;
    for (const Track& track : tracksOf(timeline_, rank)) {
      for (const Event& event : track.events) {
        if (event.kind != JobKind::kAllReduce || event.end <= scale_.range.begin) continue;
        const auto arguments = timeline_.argumentsOf(event);
        const bool namesMembers =
            std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
              return timeline_.strings[argument.key] == log_format::kMembers;
            });
        if (namesMembers && event.begin < scale_.range.end) reductions.push_back(&event);
      }
    }
    return reductions;
  }

  static void checkWidth(int width) {
    if (width >= kMinTextChartWidth && width <= kMaxTextChartWidth) return;
    throw Error("a chart cannot be " + std::to_string(width) + " columns wide; choose " +
                std::to_string(kMinTextChartWidth) + " to " + std::to_string(kMaxTextChartWidth));
  }

  static std::string rankLabel(const Track& track) { return "rank " + std::to_string(track.rank); }

  static void addLine(std::string& text, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }

  /// Appends the columns that fit into a line, from column `first` on.
  void addPart(std::string& text, const std::vector<TextRow>& rows, int first) const {
    const auto from = static_cast<std::size_t>(first);
    const auto count = static_cast<std::size_t>(std::min(lineColumns_, scale_.columns - first));
    TextScale part = scale_;
    part.columns = static_cast<int>(count);
    if (scale_.unit > 0) {
      part.before = first / scale_.cell * scale_.unit;
      part.range.begin += part.before;
      part.range.end = part.range.begin + part.columns / scale_.cell * scale_.unit;
    } else if (lineColumns_ < scale_.columns) {
      const double column = scale_.columnDuration();
      part.before = static_cast<Nanoseconds>(first * column);
      part.range.begin += part.before;
      part.range.end =
          scale_.range.begin + static_cast<Nanoseconds>((first + part.columns) * column);
    }
    text.append(static_cast<std::size_t>(labelWidth_), ' ');
    addLine(text, axisText(part));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::string label = rankLabel(*tracks_[i]);
      label.resize(static_cast<std::size_t>(labelWidth_), ' ');
      text += label;
      addLine(text, painted(rows[i], from, count));
    }
  }

  template <typename F>
  void forEachJob(const F& f) const {
    for (const Track* track : tracks_) {
      for (const Event& job : track->events) {
        if (job.end <= scale_.range.begin || job.begin >= scale_.range.end) continue;
        if (job.duration() > 0) f(*track, job);
      }
    }
  }

  bool hasWork() const {
    bool found = false;
    forEachJob([&](const Track&, const Event& job) { found = found || isCompute(job.kind); });
    return found;
  }

  /// Whether every job of the scaled chart has room for its micro-batch number.
  bool showsNumbers() const {
    bool shows = true;
    forEachJob([&](const Track& track, const Event& job) {
      const int room = scale_.columnAt(job.end) - scale_.columnAt(job.begin);
      shows = shows && labels_.hasNumberIn(track.rank, job, room);
    });
    return shows;
  }

  /// Makes the scaled chart wider, up to that many lines, until its jobs have room for their
  /// numbers. Else leaves it as it was. Where a unit is much shorter than jobs, this takes fewer
  /// lines than cells.
  bool wrapScaled(Nanoseconds most) {
    const int columns = scale_.columns;
    for (int parts = 2; parts <= most; ++parts) {
      scale_.columns = parts * lineColumns_;
      if (showsNumbers()) return true;
    }
    scale_.columns = columns;
    return false;
  }

  void chooseScale() {
    const auto& [begin, end] = scale_.range;
    Nanoseconds unit = end - begin;
    forEachJob([&](const Track&, const Event& job) {
      unit = std::gcd(unit, job.begin - begin);
      unit = std::gcd(unit, job.end - begin);
    });
    const Nanoseconds cells = (end - begin) / unit;
    if (cells > kMostCells) return;
    // The least width at which the text of every job has room, with a blank after it.
    Nanoseconds cell = 2;
    forEachJob([&](const Track& track, const Event& job) {
      const auto needed = static_cast<Nanoseconds>(labels_.whole(track.rank, job).size()) + 1;
      const Nanoseconds units = job.duration() / unit;
      cell = std::max(cell, (needed + units - 1) / units);
    });
    if (cells * cell > lineColumns_) {
      // Equal jobs are equally long, as long as "F0" has room.
      const Nanoseconds columnsPerUnit = scale_.columns / cells;
      if (columnsPerUnit >= 2) scale_.columns = static_cast<int>(cells * columnsPerUnit);
      if (showsNumbers()) return;
      const Nanoseconds cellsOfALine = lineColumns_ / cell;
      const Nanoseconds parts =
          cellsOfALine == 0 ? kMostLines : (cells + cellsOfALine - 1) / cellsOfALine;
      const Nanoseconds most = kMostLines / (std::ssize(tracks_) + 2);
      if (wrapScaled(std::min(parts / 2, most)) || parts > most) return;
      lineColumns_ = static_cast<int>(cellsOfALine * cell);
    }
    scale_.unit = unit;
    scale_.cell = static_cast<int>(cell);
    scale_.columns = static_cast<int>(cells * cell);
  }

  static std::string_view colorOf(JobKind kind, BubbleClass bubbleClass) {
    switch (kind) {
      case JobKind::kForward: return "\x1b[1;34m";
      case JobKind::kBackward: return "\x1b[32m";
      case JobKind::kBackwardInput: return "\x1b[36m";
      case JobKind::kBackwardWeight: return "\x1b[32m";
      case JobKind::kForwardBackward: return "\x1b[35m";
      case TextRow::kIdle:
        return rowOf(bubbleClass).blame == BubbleBlame::kNobody ? "\x1b[2m" : "\x1b[1;31m";
      default: return "\x1b[33m";
    }
  }

  std::string painted(const TextRow& row, std::size_t from, std::size_t count) const {
    std::string text = row.text.substr(from, count);
    text.erase(text.find_last_not_of(' ') + 1);
    if (!colors_) return text;
    std::string colored;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t at = from + i;
      const std::string_view color = colorOf(row.kinds[at], row.classes[at]);
      if (i == 0 || color != colorOf(row.kinds[at - 1], row.classes[at - 1])) {
        if (i > 0) colored += "\x1b[0m";
        colored += color;
      }
      colored += text[i];
    }
    return colored + "\x1b[0m";
  }

  /// The marks of idle time with their meanings, and whether they occur.
  static std::vector<std::pair<std::string, bool>> idleTimes(const std::vector<TextRow>& rows) {
    std::array<bool, kBubbleClassCount> shown{};
    for (const TextRow& row : rows) {
      for (std::size_t i = 0; i < row.text.size(); ++i) {
        const bool isMark = row.text[i] == rowOf(row.classes[i]).mark && !isCompute(row.kinds[i]);
        if (isMark) shown[static_cast<std::size_t>(row.classes[i])] = true;
      }
    }
    const auto shows = [&](BubbleClass c) { return shown[static_cast<std::size_t>(c)]; };
    const bool hasNone = shows(BubbleClass::kNone);
    bool hasOwn = false;
    std::vector<std::pair<std::string, bool>> times;
    for (const BubbleClassRow& row : kBubbleClasses) {
      if (row.of < kFirstCause) {
        hasOwn = hasOwn || shows(row.of);
        continue;
      }
      const bool isUnknown = row.of == BubbleClass::kUnknown;
      const std::string what = isUnknown ? "idle, cause unknown" : bubbleClassWords(row.of);
      times.emplace_back(std::string(1, row.mark) + " " + what, shows(row.of));
    }
    times.insert(times.begin(), {hasNone ? "- idle" : "- idle by the schedule", hasOwn});
    return times;
  }

  /// Explains what occurs in the rows, and nothing else.
  std::string legend(const std::vector<TextRow>& rows) const {
    std::map<JobKind, std::set<char>> shown;
    for (const TextRow& row : rows) {
      for (std::size_t i = 0; i < row.text.size(); ++i) shown[row.kinds[i]].insert(row.text[i]);
    }
    bool oddChunks = false;
    forEachJob([&](const Track&, const Event& job) {
      oddChunks = oddChunks || (isCompute(job.kind) && job.chunk > 0 && job.chunk % 2 == 1);
    });
    const auto shows = [&](JobKind kind, std::string_view anyOf) {
      return std::any_of(anyOf.begin(), anyOf.end(),
                         [&](char c) { return shown[kind].contains(c); });
    };
    std::string text;
    const auto add = [&](bool isThere, const std::string& what) {
      if (isThere) text += (text.empty() ? "" : ", ") + what;
    };
    using enum JobKind;
    const bool hasPlus = shows(kForwardBackward, "+");
    const bool hasPair = shows(kForwardBackward, "Ff");
    const bool hasSign = shows(kForwardBackward, "&");
    add(shows(kForward, "Ff") || hasPair, "F forward");
    add(shows(kBackward, "Bb") || hasPair, "B backward");
    add(shows(kBackwardInput, "Ii"), "I input half of backward");
    add(shows(kBackwardWeight, "Ww"), "W weight half of backward");
    std::string fused = hasPair ? (hasPlus ? "F+B" : "FB") : "";
    if (hasSign) fused += fused.empty() ? "&" : " or &";
    add(!fused.empty(), fused + " fused pair");
    for (const JobGroup group : {JobGroup::kCompute, JobGroup::kBeside}) {
      for (const JobKindRow& row : kJobKinds) {
        const bool isAbove = row.kind <= kForwardBackward && row.kind >= kForward;
        if (row.group != group || row.brief.empty() || isAbove) continue;
        const char letter = letterOf(row.kind);
        const char ofOddChunk = group == JobGroup::kCompute ? lowerCase(letter) : letter;
        const bool hasLetter = shows(row.kind, std::string{letter, ofOddChunk});
        const bool hasOpt = row.kind == kOptimizer && shows(kOptimizer, "p");
        const std::string mark = !hasOpt ? std::string(1, letter) : hasLetter ? "O or opt" : "opt";
        add(hasLetter || hasOpt, mark + " " + std::string(row.name));
      }
    }
    add(shows(kAllReduce, "s"), "sum adding up gradients");
    add(shows(kAllReduce, "a"), "agr agreement of all ranks");
    for (const auto& [what, isShown] : idleTimes(rows)) add(isShown, what);
    add(shows(TextRow::kIdle, std::string_view(&TextRow::kShortJobs, 1)),
        ": idle but for short jobs");
    std::string scale;
    if (scale_.unit == 0 && !showsNumbers()) {
      scale += "a letter without a number: no room for its micro-batch; ";
    }
    if (labels_.chunks() > 2) {
      scale += "stage before the letter where there is room; ";
    }
    if (oddChunks) scale += "lower case: odd chunks of a rank; ";
    const Nanoseconds column = static_cast<Nanoseconds>(scale_.columnDuration() + 0.5);
    scale += scale_.unit > 0 ? "one cell is " + formatDuration(scale_.unit)
                             : "one column is " + formatDuration(column);
    return foldedLine(text, width_) + "\n" + foldedLine(scale, width_) + "\n";
  }

  const Timeline& timeline_;
  std::vector<const Track*> tracks_;
  JobText labels_;
  bool colors_;
  TextScale scale_;
  std::size_t width_;
  int labelWidth_ = 0;
  int lineColumns_ = 0;  // columns of a line after the label; more are wrapped
};

}  // namespace

std::string textChart(const Timeline& timeline, const TextChartOptions& options) {
  return TextChart(timeline, options).run();
}

}  // namespace pipetrace
