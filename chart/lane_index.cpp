#include "chart/lane_index.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "trace/threads/large_pages.h"

namespace pipetrace {
namespace {

std::uint8_t mean(std::uint64_t sum, std::uint64_t busy) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>((sum + busy / 2) / busy, 255));
}

}  // namespace

LaneIndex::LaneIndex(std::span<const Event> events, const JobColors& colors)
    : jobColors_(&colors), events_(events) {
  build();
}

LaneIndex::LaneIndex(std::span<const Event> events, std::vector<std::uint32_t> members,
                     const JobColors& colors)
    : jobColors_(&colors),
      events_(members.empty() ? std::span<const Event>{} : events),
      members_(std::move(members)) {
  build();
}

void LaneIndex::setColors(const JobColors& colors) {
  const bool isSame = jobColors_ != nullptr && jobColors_->theme() == colors.theme();
  jobColors_ = &colors;
  if (!isSame) recolor();
}

void LaneIndex::recolor() {
  for (std::size_t i = 0; i < slots_.size(); ++i) colors_[i] = jobColors_->ofSlot(slots_[i]);
  Sums sums;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    blocks_[block].before = sums;
    addWhole(sums, block * kBlock, std::min((block + 1) * kBlock, size()));
  }
}

/// The number of an event's colour in colors_. A lane has few of them.
std::uint8_t LaneIndex::colorNumber(const Event& event) {
  const std::uint16_t slot = jobColors_->slotOf(event);
  const auto found = std::find(slots_.begin(), slots_.end(), slot);
  const auto number = static_cast<std::size_t>(found - slots_.begin());
  assert(number <= std::numeric_limits<std::uint8_t>::max());
  if (found == slots_.end()) {
    slots_.push_back(slot);
    colors_.push_back(jobColors_->ofSlot(slot));
  }
  return static_cast<std::uint8_t>(number);
}

void LaneIndex::build() {
  const std::size_t blocks = (size() + kBlock - 1) / kBlock;
  reserveLarge(blocks_, blocks);
  blockBegins_.reserve(blocks);
  Sums sums;
  for (std::size_t first = 0; first < size(); first += kBlock) {
    const std::size_t last = std::min(first + kBlock, size());
    const Nanoseconds begin = (*this)[first].begin;
    Block& block = blocks_.emplace_back();
    blockBegins_.push_back(begin);
    block.before = sums;
    // Events of a lane do not overlap, so that the last one ends last.
    block.isLong =
        static_cast<std::uint64_t>((*this)[last - 1].end) - static_cast<std::uint64_t>(begin) >
        std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = first; i < last; ++i) {
      const Event& event = (*this)[i];
      block.colors[i - first] = colorNumber(event);
      if (block.isLong) continue;
      block.begins[i - first] = static_cast<std::uint32_t>(event.begin - begin);
      block.ends[i - first] = static_cast<std::uint32_t>(event.end - begin);
    }
    addWhole(sums, first, last);
  }
}

/// Adds the part of an event that is in [begin, end).
void LaneIndex::addPart(Sums& sums, std::size_t i, Nanoseconds begin, Nanoseconds end) const {
  const Nanoseconds from = std::max(beginOf(i), begin);
  const Nanoseconds to = std::min(endOf(i), end);
  if (to <= from) return;
  sums.add(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from), colorOf(i));
}

/// Adds the events at positions [first, last).
void LaneIndex::addWhole(Sums& sums, std::size_t first, std::size_t last) const {
  for (std::size_t i = first; i < last; ++i) {
    sums.add(static_cast<std::uint64_t>(endOf(i)) - static_cast<std::uint64_t>(beginOf(i)),
             colorOf(i));
  }
}

LaneIndex::Sums LaneIndex::sumsBefore(std::size_t i) const {
  if (i == 0) return {};
  const std::size_t block = (i - 1) / kBlock;
  Sums sums = blocks_[block].before;
  addWhole(sums, block * kBlock, i);
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
  while (i < last && beginOf(i) < time) ++i;
  return i;
}

std::size_t LaneIndex::firstEndingAfter(Nanoseconds time) const {
  std::size_t i = firstBeginningAt(time);
  while (i > 0 && endOf(i - 1) > time) --i;
  while (i < size() && endOf(i) <= time) ++i;
  return i;
}

LaneLoad LaneIndex::load(std::size_t first, std::size_t last, Nanoseconds begin,
                         Nanoseconds end) const {
  if (first >= last) return {};
  Sums sums;
  // Only the first and the last event can reach beyond [begin, end).
  addPart(sums, first, begin, end);
  if (last - first > 1) addPart(sums, last - 1, begin, end);
  if (last - first > 2 * kBlock) {
    const Sums to = sumsBefore(last - 1);
    const Sums from = sumsBefore(first + 1);
    sums.busy += to.busy - from.busy;
    sums.red += to.red - from.red;
    sums.green += to.green - from.green;
    sums.blue += to.blue - from.blue;
  } else if (last - first > 2) {
    addWhole(sums, first + 1, last - 1);
  }
  if (sums.busy == 0) return {0, colorOf(first)};
  return {static_cast<Nanoseconds>(sums.busy),
          {mean(sums.red, sums.busy), mean(sums.green, sums.busy), mean(sums.blue, sums.busy)}};
}

LaneLoad LaneIndex::load(Nanoseconds begin, Nanoseconds end) const {
  const std::size_t first = firstEndingAfter(begin);
  return load(first, firstBeginningAt(end, first), begin, end);
}

}  // namespace pipetrace
