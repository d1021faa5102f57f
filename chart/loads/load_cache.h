#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chart/lane_index.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// The sum of the loads of several lanes in one pixel column.
struct PixelLoad {
  double busy = 0;  ///< ns
  double red = 0;   ///< colours times ns
  double green = 0;
  double blue = 0;
  bool isEmpty = true;  ///< no event, not even one of no length

  /// The mean of the colours; black where nothing is busy.
  Color color() const;
};

/// Adds the load of the lane in each pixel column of the axis to `pixels`, which has axis.width()
/// of them. It costs at most as much as there are pixels, whatever the number of events.
void addLoad(const LaneIndex& lane, const TimeAxis& axis, std::vector<PixelLoad>& pixels);

/// The time that pixel `x` covers. A pixel that is shorter than a nanosecond may hold none; it
/// shows the one that begins before it.
struct PixelTime {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds span() const { return end - begin; }
};
PixelTime pixelTime(const TimeAxis& axis, int x);

/// The load of several lanes together, summed up over time: the load of any stretch of time costs
/// the same whatever the number of lanes and of events. It takes 8 bytes for each instant at which
/// the number of busy lanes changes. Does not refer to the lanes. Immutable: several threads may
/// read it.
class LoadSums {
 public:
  LoadSums() = default;
  /// Gives up, and sums up nothing, once `isStopped` is set.
  LoadSums(std::span<const LaneIndex* const> lanes, const std::atomic<bool>& isStopped);

  /// Adds the load of each pixel column of the axis to `pixels`, as addLoad() of every lane does.
  /// Colours are means over a few events. An event of no length adds nothing.
  void addTo(const TimeAxis& axis, std::vector<PixelLoad>& pixels) const;

 private:
  /// Some points at which the number of busy lanes changes.
  struct Block {
    Nanoseconds begin = 0;
    std::uint64_t busy = 0;  // ns before `begin`, over all lanes; wraps, differences are right
    double red = 0;          // colours times ns before `begin`
    double green = 0;
    double blue = 0;
    std::uint32_t firstPoint = 0;
    std::int32_t lanes = 0;  // busy before the first point
  };
  struct Sums {
    std::uint64_t busy = 0;
    double red = 0;
    double green = 0;
    double blue = 0;
  };

  /// The sums before `time`, found from `block` on, which becomes the block of `time`.
  Sums before(Nanoseconds time, std::size_t& block) const;

  std::vector<Block> blocks_;           // the last one ends the list; it has no points
  std::vector<std::uint32_t> offsets_;  // of the points, ns after their block's begin
  std::vector<std::int16_t> changes_;   // of the number of busy lanes there
};

/// The sums of folded rows, made on a thread of its own when they are first asked for. All lanes
/// that it was given must outlive it. Thread-safe. The thread
/// is stopped when it is destroyed or replaced.
class LoadCache {
 public:
  LoadCache();
  ~LoadCache();
  LoadCache(LoadCache&&) noexcept;
  LoadCache& operator=(LoadCache&&) noexcept;

  /// The sums of `lanes`, which `key` names; null until they are ready.
  std::shared_ptr<const LoadSums> find(const std::string& key,
                                       const std::vector<const LaneIndex*>& lanes) const;
  /// Waits until all sums are ready that were asked for.
  void wait() const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace pipetrace
