#include "chart/loads/load_cache.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace pipetrace {
namespace {

void add(PixelLoad& pixel, Nanoseconds busy, Color color) {
  const auto time = static_cast<double>(busy);
  pixel.busy += time;
  pixel.red += time * color.red;
  pixel.green += time * color.green;
  pixel.blue += time * color.blue;
  pixel.isEmpty = false;
}

constexpr std::size_t kPointsOfABlock = 32;
constexpr std::int32_t kMostChange = 32'767;
constexpr std::size_t kStopChecks = 1 << 16;

/// A begin or an end of an event.
struct Edge {
  Nanoseconds time = 0;
  std::int32_t change = 0;
  Color color;
};

/// All edges of the lanes in the order of their times; none once `isStopped` is set.
std::vector<Edge> edgesOf(std::span<const LaneIndex* const> lanes,
                          const std::atomic<bool>& isStopped) {
  std::vector<Edge> edges;
  std::vector<std::size_t> ends;  // of the parts that are in order: at first, one a lane
  std::size_t events = 0;
  for (const LaneIndex* lane : lanes) events += lane->size();
  edges.reserve(2 * events);
  for (const LaneIndex* lane : lanes) {
    if (isStopped) return {};
    for (std::size_t i = 0; i < lane->size(); ++i) {
      const Event& event = (*lane)[i];
      if (event.duration() <= 0) continue;
      const Color color = lane->load(i, i + 1, event.begin, event.end).color;
      edges.push_back({event.begin, 1, color});
      edges.push_back({event.end, -1, color});
    }
    ends.push_back(edges.size());
  }
  // Merges neighbours. Unlike a sort, that can be stopped on the way.
  std::vector<Edge> merged(edges.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> joined;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      if (isStopped) return {};
      const auto at = [&](std::size_t end) {
        return edges.begin() + static_cast<std::ptrdiff_t>(end);
      };
      const std::size_t first = joined.empty() ? 0 : joined.back();
      joined.push_back(ends[std::min(i + 1, ends.size() - 1)]);
      std::merge(at(first), at(ends[i]), at(ends[i]), at(joined.back()),
                 merged.begin() + static_cast<std::ptrdiff_t>(first),
                 [](const Edge& a, const Edge& b) { return a.time < b.time; });
    }
    edges.swap(merged);
    ends = std::move(joined);
  }
  return edges;
}

std::uint64_t between(Nanoseconds from, Nanoseconds to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

Color PixelLoad::color() const {
  if (busy <= 0) return {};
  const auto mean = [this](double sum) { return static_cast<std::uint8_t>(sum / busy + 0.5); };
  return {mean(red), mean(green), mean(blue)};
}

PixelTime pixelTime(const TimeAxis& axis, int x) {
  const PixelTime time{axis.timeAt(x), axis.timeAt(x + 1)};
  return time.begin < time.end ? time : PixelTime{time.end - 1, time.end};
}

void addLoad(const LaneIndex& lane, const TimeAxis& axis, std::vector<PixelLoad>& pixels) {
  std::size_t i = lane.firstEndingAfter(axis.begin() - 1);
  int x = 0;
  while (i < lane.size() && x < axis.width() && lane[i].begin < axis.end()) {
    const Event& event = lane[i];
    x = std::max(x, axis.xOf(event.begin));
    PixelTime time = pixelTime(axis, x);
    if (event.begin <= time.begin && event.end >= time.end && event.duration() > 0) {
      // It fills its pixels.
      const Color color = lane.load(i, i + 1, event.begin, event.end).color;
      while (x < axis.width() && event.end >= time.end) {
        add(pixels[static_cast<std::size_t>(x)], time.span(), color);
        time = pixelTime(axis, ++x);
      }
      if (event.end <= time.begin) ++i;
      continue;
    }
    const std::size_t stop = lane.firstBeginningAt(time.end, i);
    const LaneLoad load = lane.load(i, stop, time.begin, time.end);
    add(pixels[static_cast<std::size_t>(x)], load.busy, load.color);
    i = lane[stop - 1].end > time.end ? stop - 1 : stop;
    ++x;
  }
}

struct LoadCache::Work {
  using Lanes = std::vector<const LaneIndex*>;

  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  /// Stops the thread.
  ~Work() {
    if (!thread.joinable()) return;
    {
      const std::scoped_lock lock(mutex);
      isStopped = true;
    }
    changed.notify_all();
    thread.join();
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return isStopped || !asked.empty(); });
      if (isStopped) return;
      const auto [key, lanes] = std::move(asked.front());
      asked.pop_front();
      isBusy = true;
      lock.unlock();
      auto made = std::make_shared<const LoadSums>(lanes, isStopped);
      lock.lock();
      isBusy = false;
      sums[key] = std::move(made);
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<const LoadSums>> sums;  // null: asked for
  std::deque<std::pair<std::string, Lanes>> asked;
  bool isBusy = false;
  std::atomic<bool> isStopped = false;
  std::thread thread;  // runs from the first question on
};

LoadCache::LoadCache() : work_(std::make_unique<Work>()) {}
LoadCache::LoadCache(LoadCache&&) noexcept = default;
LoadCache& LoadCache::operator=(LoadCache&&) noexcept = default;

LoadCache::~LoadCache() = default;

std::shared_ptr<const LoadSums> LoadCache::find(const std::string& key,
                                                const std::vector<const LaneIndex*>& lanes) const {
  const std::scoped_lock lock(work_->mutex);
  const auto [at, isNew] = work_->sums.try_emplace(key);
  if (isNew) {
    work_->asked.emplace_back(key, lanes);
    if (!work_->thread.joinable())
      work_->thread = std::thread([work = work_.get()] { work->run(); });
    work_->changed.notify_all();
  }
  return at->second;
}

void LoadCache::wait() const {
  std::unique_lock lock(work_->mutex);
  work_->changed.wait(lock, [&] { return work_->asked.empty() && !work_->isBusy; });
}

LoadSums::LoadSums(std::span<const LaneIndex* const> lanes, const std::atomic<bool>& isStopped) {
  const std::vector<Edge> edges = edgesOf(lanes, isStopped);
  if (edges.empty()) return;
  Sums sums;
  std::int32_t busy = 0;
  double red = 0;  // of the busy lanes
  double green = 0;
  double blue = 0;
  Nanoseconds last = edges.front().time;
  const auto advance = [&](Nanoseconds time) {
    const std::uint64_t passed = between(last, time);
    const auto ns = static_cast<double>(passed);
    sums.busy += passed * static_cast<std::uint64_t>(busy);
    sums.red += red * ns;
    sums.green += green * ns;
    sums.blue += blue * ns;
    last = time;
  };
  const auto addBlock = [&](Nanoseconds begin) {
    blocks_.push_back({begin, sums.busy, sums.red, sums.green, sums.blue,
                       static_cast<std::uint32_t>(offsets_.size()), busy});
  };
  for (std::size_t i = 0; i < edges.size();) {
    if (i % kStopChecks == 0 && isStopped) {
      blocks_.clear();
      return;
    }
    const Nanoseconds time = edges[i].time;
    advance(time);
    const std::int32_t before = busy;
    const bool isFull =
        blocks_.empty() || offsets_.size() - blocks_.back().firstPoint >= kPointsOfABlock;
    const bool isFar =
        !isFull && between(blocks_.back().begin, time) > std::numeric_limits<std::uint32_t>::max();
    if (isFull || isFar) addBlock(time);
    for (; i < edges.size() && edges[i].time == time; ++i) {
      const Edge& edge = edges[i];
      busy += edge.change;
      red += edge.change * edge.color.red;
      green += edge.change * edge.color.green;
      blue += edge.change * edge.color.blue;
    }
    // No point where one event follows another; several where very many begin at once.
    for (std::int32_t rest = busy - before; rest != 0;) {
      const std::int32_t change = std::clamp(rest, -kMostChange, kMostChange);
      offsets_.push_back(static_cast<std::uint32_t>(between(blocks_.back().begin, time)));
      changes_.push_back(static_cast<std::int16_t>(change));
      rest -= change;
    }
  }
  addBlock(last);
  blocks_.shrink_to_fit();
  offsets_.shrink_to_fit();
  changes_.shrink_to_fit();
}

LoadSums::Sums LoadSums::before(Nanoseconds time, std::size_t& block) const {
  // Most calls ask for the next pixel, which is near.
  std::size_t stride = 1;
  while (block + stride < blocks_.size() && blocks_[block + stride].begin <= time) {
    block += stride;
    stride *= 2;
  }
  const auto from = blocks_.begin() + static_cast<std::ptrdiff_t>(block);
  const auto to =
      blocks_.begin() + static_cast<std::ptrdiff_t>(std::min(block + stride, blocks_.size()));
  const auto after = std::upper_bound(from + 1, to, time,
                                      [](Nanoseconds t, const Block& b) { return t < b.begin; });
  block = static_cast<std::size_t>(after - blocks_.begin()) - 1;
  const Block& at = blocks_[block];
  Sums sums{at.busy, at.red, at.green, at.blue};
  if (time <= at.begin || block + 1 == blocks_.size()) return sums;
  const Block& next = blocks_[block + 1];
  const std::uint64_t offset = between(at.begin, time);
  std::uint64_t last = 0;
  auto busy = static_cast<std::uint64_t>(at.lanes);
  for (std::uint32_t i = at.firstPoint; i < next.firstPoint && offsets_[i] <= offset; ++i) {
    sums.busy += (offsets_[i] - last) * busy;
    last = offsets_[i];
    busy += static_cast<std::uint64_t>(std::int64_t{changes_[i]});
  }
  sums.busy += (offset - last) * busy;
  if (next.busy != at.busy) {
    const double share =
        static_cast<double>(sums.busy - at.busy) / static_cast<double>(next.busy - at.busy);
    sums.red += share * (next.red - at.red);
    sums.green += share * (next.green - at.green);
    sums.blue += share * (next.blue - at.blue);
  }
  return sums;
}

void LoadSums::addTo(const TimeAxis& axis, std::vector<PixelLoad>& pixels) const {
  if (blocks_.empty()) return;
  std::size_t block = 0;
  Nanoseconds from = axis.timeAt(0) - 1;
  Sums sums = before(from, block);
  for (int x = 0; x < axis.width(); ++x) {
    const PixelTime time = pixelTime(axis, x);
    if (time.begin > from) {  // else several pixels show the same nanosecond
      from = time.begin;
      sums = before(from, block);
    }
    std::size_t ahead = block;
    const Sums end = before(time.end, ahead);
    const std::uint64_t busy = end.busy - sums.busy;
    if (busy == 0) continue;
    PixelLoad& pixel = pixels[static_cast<std::size_t>(x)];
    pixel.busy += static_cast<double>(busy);
    pixel.red += end.red - sums.red;
    pixel.green += end.green - sums.green;
    pixel.blue += end.blue - sums.blue;
    pixel.isEmpty = false;
    if (axis.timeAt(x + 1) == time.end && x + 1 < axis.width() &&
        pixelTime(axis, x + 1).begin == time.end) {
      from = time.end;
      sums = end;
      block = ahead;
    }
  }
}

}  // namespace pipetrace
