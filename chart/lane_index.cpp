#include "chart/lane_index.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr std::size_t kBlock = 8;

std::uint8_t mean(std::uint64_t sum, std::uint64_t busy) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>((sum + busy / 2) / busy, 255));
}

}  // namespace

LaneIndex::LaneIndex(std::span<const Event> events, const JobColors& colors)
    : colors_(&colors), events_(events) {
  build();
}

LaneIndex::LaneIndex(std::span<const Event> events, std::vector<std::uint32_t> members,
                     const JobColors& colors)
    : colors_(&colors),
      events_(members.empty() ? std::span<const Event>{} : events),
      members_(std::move(members)) {
  build();
}

void LaneIndex::recolor() {
  Sums sums;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i % kBlock == 0) blockSums_[i / kBlock] = sums;
    addEvent(sums, i, kNsMin, kNsMax);
  }
}

void LaneIndex::build() {
  const std::size_t blocks = (size() + kBlock - 1) / kBlock;
  blockSums_.reserve(blocks);
  blockBegins_.reserve(blocks);
  Sums sums;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i % kBlock == 0) {
      blockSums_.push_back(sums);
      blockBegins_.push_back((*this)[i].begin);
    }
    addEvent(sums, i, kNsMin, kNsMax);
  }
}

void LaneIndex::addEvent(Sums& sums, std::size_t i, Nanoseconds begin, Nanoseconds end) const {
  const Event& event = (*this)[i];
  const Nanoseconds from = std::max(event.begin, begin);
  const Nanoseconds to = std::min(event.end, end);
  if (to <= from) return;
  const auto time = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  const Color color = colors_->of(event);
  sums.busy += time;
  sums.red += time * color.red;
  sums.green += time * color.green;
  sums.blue += time * color.blue;
}

LaneIndex::Sums LaneIndex::sumsBefore(std::size_t i) const {
  if (i == 0) return {};
  const std::size_t block = (i - 1) / kBlock;
  Sums sums = blockSums_[block];
  for (std::size_t k = block * kBlock; k < i; ++k) addEvent(sums, k, kNsMin, kNsMax);
  return sums;
}

std::size_t LaneIndex::firstBeginningAt(Nanoseconds time, std::size_t from) const {
  if (from >= size()) return size();
  // Blocks in growing strides, because most calls ask for the next pixel, which is near.
  std::size_t block = from / kBlock;  // not after the block of the result
  std::size_t stride = 1;
  while (block + stride < blockBegins_.size() && blockBegins_[block + stride] < time) {
    block += stride;
    stride *= 2;
  }
  const auto begins = blockBegins_.begin();
  const auto end = std::min(block + stride, blockBegins_.size());
  const auto after = std::lower_bound(begins + static_cast<std::ptrdiff_t>(block) + 1,
                                      begins + static_cast<std::ptrdiff_t>(end), time);
  block = static_cast<std::size_t>(after - begins) - 1;
  std::size_t i = std::max(from, block * kBlock);
  const std::size_t last = std::min((block + 1) * kBlock, size());
  while (i < last && (*this)[i].begin < time) ++i;
  return i;
}

std::size_t LaneIndex::firstEndingAfter(Nanoseconds time) const {
  std::size_t i = firstBeginningAt(time);
  while (i > 0 && (*this)[i - 1].end > time) --i;
  while (i < size() && (*this)[i].end <= time) ++i;
  return i;
}

LaneLoad LaneIndex::load(std::size_t first, std::size_t last, Nanoseconds begin,
                         Nanoseconds end) const {
  if (first >= last) return {};
  Sums sums;
  // Only the first and the last event can reach beyond [begin, end).
  addEvent(sums, first, begin, end);
  if (last - first > 1) addEvent(sums, last - 1, begin, end);
  if (last - first > 2 * kBlock) {
    const Sums to = sumsBefore(last - 1);
    const Sums from = sumsBefore(first + 1);
    sums.busy += to.busy - from.busy;
    sums.red += to.red - from.red;
    sums.green += to.green - from.green;
    sums.blue += to.blue - from.blue;
  } else {
    for (std::size_t i = first + 1; i + 1 < last; ++i) addEvent(sums, i, kNsMin, kNsMax);
  }
  if (sums.busy == 0) return {0, colors_->of((*this)[first])};
  return {static_cast<Nanoseconds>(sums.busy),
          {mean(sums.red, sums.busy), mean(sums.green, sums.busy), mean(sums.blue, sums.busy)}};
}

LaneLoad LaneIndex::load(Nanoseconds begin, Nanoseconds end) const {
  const std::size_t first = firstEndingAfter(begin);
  return load(first, firstBeginningAt(end, first), begin, end);
}

}  // namespace pipetrace
