#include "chart/statistics/percentiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "chart/statistics/key_table.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/shared_array.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kFarApart = 50;

/// The edge a part of the way from `from` to `to`.
Nanoseconds edgeAt(Nanoseconds from, Nanoseconds to, double part, bool isLogarithmic) {
  const auto low = static_cast<double>(from);
  const auto high = static_cast<double>(to) + (isLogarithmic ? 0 : 1);
  if (!isLogarithmic) return from + static_cast<Nanoseconds>((high - low) * part);
  return static_cast<Nanoseconds>(std::llround(low * std::pow(high / low, part)));
}

constexpr std::size_t kBlocksOfPiece = 128;

/// Blocks of a track, and how many events of each line they have in the area.
struct Piece {
  std::size_t track = 0;
  std::size_t firstBlock = 0;
  std::size_t lastBlock = 0;
  std::map<std::int32_t, std::size_t> counts;  // then: where the durations of the line go
};

/// The durations of the events in an area, line after line.
class Durations {
 public:
  Durations(const StatisticsIndex& index, const AreaSums& sums, StatisticsBy by, StatisticsOf of,
            int threads, const std::atomic<bool>& stop)
      : index_(index), time_(sums.area.time), by_(by), of_(of), stop_(stop) {
    for (const std::size_t track : sums.area.tracks) addPieces(track);
    inParallel(threads, pieces_.size(), [&](std::size_t i) { count(pieces_[i]); });
    std::size_t size = 0;
    for (const StatisticsLine& line : linesOf(sums, by, of)) {
      begins_[line.line] = size;
      size += line.sums.count;
    }
    size_ = size;
    if (stop_) return;
    std::map<std::int32_t, std::size_t> next = begins_;
    for (Piece& piece : pieces_) {
      for (auto& [line, count] : piece.counts)
        count = std::exchange(next[line], next[line] + count);
    }
    durations_ = SharedArray<Nanoseconds>(std::max<std::size_t>(size, 1));
    inParallel(threads, pieces_.size(), [&](std::size_t i) { fill(pieces_[i]); });
  }

  std::span<Nanoseconds> of(const StatisticsLine& line) {
    return all().subspan(begins_.at(line.line), line.sums.count);
  }
  std::span<Nanoseconds> all() { return {size_ == 0 ? nullptr : &durations_[0], size_}; }

 private:
  void addPieces(std::size_t track) {
    const auto& blocks = index_.blocks(track);
    std::size_t end = 0;
    while (end < blocks.size() && blocks[end].firstBegin < time_.end) ++end;
    std::size_t first = 0;
    while (first < end && !blocks[first].meets(time_)) ++first;
    for (; first < end; first += kBlocksOfPiece) {
      pieces_.push_back({track, first, std::min(first + kBlocksOfPiece, end), {}});
    }
  }

  /// Calls `use` with each event of the block that is in the area.
  template <typename Use>
  void forEach(std::size_t track, std::size_t block, Use use) const {
    const auto [from, to] = index_.eventsOf(track, block);
    const std::vector<Event>& events = index_.timeline().tracks[track].events;
    for (std::size_t i = from; i < to; ++i) {
      if (isIn(events[i], time_.begin, time_.end)) use(events[i]);
    }
  }

  static std::uint64_t keyOf(const Event& event) {
    return sumsKey(event.kind, event.bubbleClass, event.stage);
  }

  void count(Piece& piece) const {
    KeyTable<std::size_t> counts;
    for (std::size_t b = piece.firstBlock; b < piece.lastBlock && !stop_; ++b) {
      const StatisticsIndex::Block& block = index_.blocks(piece.track)[b];
      if (!block.meets(time_)) continue;
      if (block.isInside(time_)) {
        for (const auto& [key, sums] : block.sums) counts[key] += sums.count;
      } else {
        forEach(piece.track, b, [&](const Event& event) { ++counts[keyOf(event)]; });
      }
    }
    const int rank = index_.timeline().tracks[piece.track].rank;
    for (const auto& [key, count] : counts.entries()) {
      if (const auto line = lineOf(by_, key, rank, of_)) piece.counts[*line] += count;
    }
  }

  /// Several keys may be of one line: they share its cursor.
  void fill(Piece& piece) {
    const int rank = index_.timeline().tracks[piece.track].rank;
    KeyTable<std::size_t*> cursors;
    std::size_t unwanted = 0;
    for (std::size_t b = piece.firstBlock; b < piece.lastBlock && !stop_; ++b) {
      if (!index_.blocks(piece.track)[b].meets(time_)) continue;
      forEach(piece.track, b, [&](const Event& event) {
        std::size_t*& cursor = cursors[keyOf(event)];
        if (cursor == nullptr) {
          const auto line = lineOf(by_, keyOf(event), rank, of_);
          cursor = line ? &piece.counts.at(*line) : &unwanted;
        }
        if (cursor != &unwanted) durations_.make((*cursor)++, event.duration());
      });
    }
  }

  const StatisticsIndex& index_;
  Timeline::Span time_;
  StatisticsBy by_;
  StatisticsOf of_;
  const std::atomic<bool>& stop_;
  std::vector<Piece> pieces_;
  std::map<std::int32_t, std::size_t> begins_;
  std::size_t size_ = 0;
  SharedArray<Nanoseconds> durations_;
};

/// The value at the position `at` of the sorted values, which are sorted as far as it takes. Those
/// before `from` are known to be less or equal.
Nanoseconds nth(std::span<Nanoseconds> values, std::size_t from, std::size_t at) {
  std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from),
                   values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

/// Reorders the durations; there is at least one.
LinePercentiles percentilesOf(std::optional<std::int32_t> line, const EventSums& sums,
                              std::span<Nanoseconds> durations, const std::atomic<bool>& stop) {
  LinePercentiles found{line, 0, 0, 0, histogramBins(sums.shortest, sums.longest)};
  countInto(found.histogram, durations);
  const std::size_t count = durations.size();
  const auto positionOf = [&](std::size_t percent) { return (count * percent + 99) / 100 - 1; };
  if (stop) return found;
  const std::size_t middle = count / 2;
  found.median = nth(durations, 0, middle);
  if (count % 2 == 0) {
    const Nanoseconds lower = *std::max_element(
        durations.begin(), durations.begin() + static_cast<std::ptrdiff_t>(middle));
    found.median = lower + (found.median - lower) / 2;
  }
  if (stop) return found;
  const std::size_t at90 = positionOf(90);
  found.p90 = nth(durations, std::min(middle, at90), at90);
  found.p99 = nth(durations, at90, positionOf(99));
  return found;
}

}  // namespace

std::size_t DurationHistogram::binOf(Nanoseconds duration) const {
  const auto after = std::upper_bound(edges.begin() + 1, edges.end() - 1, duration);
  return static_cast<std::size_t>(after - edges.begin()) - 1;
}

DurationHistogram histogramBins(Nanoseconds shortest, Nanoseconds longest, std::size_t most) {
  DurationHistogram bins;
  const Nanoseconds from = std::max<Nanoseconds>(shortest, 1);
  bins.isLogarithmic = longest / kFarApart >= from;
  // Durations without a length stand in the first bin of a logarithmic scale, too.
  const Nanoseconds first = bins.isLogarithmic ? from : shortest;
  bins.edges.push_back(shortest);
  for (std::size_t i = 1; i < most; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(most);
    const Nanoseconds edge = edgeAt(first, longest, part, bins.isLogarithmic);
    if (edge > bins.edges.back() && edge <= longest) bins.edges.push_back(edge);
  }
  bins.edges.push_back(longest == kNsMax ? longest : longest + 1);
  bins.counts.resize(bins.edges.size() - 1);
  return bins;
}

void countInto(DurationHistogram& histogram, std::span<const Nanoseconds> durations) {
  // The search begins at the bin of the shortest duration with the same six leading bits.
  constexpr std::size_t kSmall = 32;  // durations below it have slots of their own
  const auto slotOf = [](Nanoseconds duration) -> std::size_t {
    const auto value = static_cast<std::uint64_t>(duration);
    if (value < kSmall) return value;
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - 6;
    return kSmall + shift * kSmall + (value >> shift) % kSmall;
  };
  std::array<std::uint8_t, 60 * kSmall> firstBin{};
  for (std::size_t slot = 0; slot < firstBin.size(); ++slot) {
    const std::size_t shift = slot < kSmall ? 0 : slot / kSmall - 1;
    if (shift > 57) break;  // beyond the longest duration
    const std::size_t leading = slot < kSmall ? slot : kSmall + slot % kSmall;
    firstBin[slot] =
        static_cast<std::uint8_t>(histogram.binOf(static_cast<Nanoseconds>(leading << shift)));
  }
  const std::vector<Nanoseconds>& edges = histogram.edges;
  const std::size_t last = histogram.counts.size() - 1;
  for (const Nanoseconds duration : durations) {
    std::size_t bin = firstBin[slotOf(duration)];
    while (bin < last && duration >= edges[bin + 1]) ++bin;
    ++histogram.counts[bin];
  }
}

void findPercentiles(const StatisticsIndex& index, const AreaSums& sums, StatisticsBy by,
                     StatisticsOf of, int threads, const std::atomic<bool>& stop,
                     const std::function<void(LinePercentiles)>& found) {
  std::vector<StatisticsLine> lines = linesOf(sums, by, of);
  if (lines.empty()) return;
  Durations durations(index, sums, by, of, threads, stop);
  // The largest first: then no thread is left with it at the end.
  std::sort(lines.begin(), lines.end(), [](const StatisticsLine& a, const StatisticsLine& b) {
    return a.sums.count > b.sums.count;
  });
  EventSums all;
  for (const StatisticsLine& line : lines) all.add(line.sums);
  std::mutex mutex;
  inParallel(threads, lines.size(), [&](std::size_t i) {
    if (stop) return;
    LinePercentiles ofLine =
        percentilesOf(lines[i].line, lines[i].sums, durations.of(lines[i]), stop);
    const std::lock_guard lock(mutex);
    if (stop) return;
    found(ofLine);
    if (lines.size() > 1) return;
    ofLine.line.reset();  // all lines together are this one
    found(std::move(ofLine));
  });
  if (stop || lines.size() == 1) return;
  LinePercentiles ofAll = percentilesOf(std::nullopt, all, durations.all(), stop);
  if (!stop) found(std::move(ofAll));
}

}  // namespace pipetrace
