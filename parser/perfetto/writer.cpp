#include "parser/perfetto/writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "parser/perfetto/format.h"
#include "parser/perfetto/sequence.h"
#include "parser/profile/arrow.h"
#include "parser/profile/profile_metadata.h"
#include "parser/profile/viewer_rows.h"
#include "trace/text/utf8.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

namespace pf = perfetto_format;

/// The sequence of descriptors and metadata; row or counter i has sequence i plus two.
constexpr std::uint32_t kOwnSequence = 1;
constexpr std::uint32_t kFirstSequence = 2;

/// Perfetto shows top-level tracks in the order of their names, and others in the order that we
/// give. From this rank on, the ranks get a track above them.
constexpr int kFirstRankOutOfOrder = 10;

void addPacket(PacketBuffer& out, std::string_view packet) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(pf::kPacket, packet.data(), packet.size());
  out.used(std::copy(bytes.begin(), bytes.end(), out.room(bytes.size())));
}

void addMetadata(PacketBuffer& out, std::string_view name, const std::string& text) {
  std::string packet;
  {
    protozero::pbf_writer writer(packet);
    writer.add_uint32(pf::packet::kSequence, kOwnSequence);
    protozero::pbf_writer bundle(writer, pf::packet::kChromeEvents);
    protozero::pbf_writer entry(bundle, pf::metadata::kEntry);
    entry.add_string(pf::metadata::kName, name.data(), name.size());
    entry.add_string(pf::metadata::kText, text);
  }
  addPacket(out, packet);
}

/// A TrackDescriptor without its uuid.
std::string descriptor(std::uint64_t parent, const std::string& name, int order) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(pf::track::kName, toUtf8(name));
  if (parent != 0) writer.add_uint64(pf::track::kParent, parent);
  writer.add_uint64(pf::track::kChildOrdering, pf::track::kExplicitOrder);
  writer.add_int32(pf::track::kOrderRank, order);
  writer.add_uint64(pf::track::kMerging, pf::track::kNeverMerged);
  return bytes;
}

std::string counterDescriptor(std::uint64_t parent, const CounterSeries& series, int order) {
  std::string bytes = descriptor(parent, series.name, order);
  protozero::pbf_writer writer(bytes);
  protozero::pbf_writer counter(writer, pf::track::kCounter);
  // Always with a field: protozero leaves an empty message out, and then the track would be no
  // counter.
  counter.add_uint64(pf::counter::kUnit,
                     series.unit == "bytes" ? pf::counter::kBytes : pf::counter::kNoUnit);
  if (!series.unit.empty()) counter.add_string(pf::counter::kUnitName, toUtf8(series.unit));
  return bytes;
}

/// The packets of one sequence, in time order: the begins and ends of a row's events, which do not
/// overlap, or the samples of a counter.
struct Source {
  PerfettoSequence sequence;
  std::uint32_t track = 0;            // of a row
  std::vector<std::uint32_t> events;  // of a row that does not have all events of its track
  const CounterSeries* counter = nullptr;
  std::size_t count = 0;
  std::size_t next = 0;
  bool isOpen = false;  // the next is the end of `next`
};

class ProfileWriter {
 public:
  ProfileWriter(const Timeline& timeline, const PerfettoOptions& options, OutputFile& out)
      : timeline_(timeline),
        out_(out, threadCount(options.threads) > 1),
        reserved_(timeline.strings),
        rows_(timeline, options.threads) {
    origin_ = profileOrigin(timeline, options.absoluteTime, options.threads);
    if (options.flows) findFlows();
  }

  ProfileSummary write() {
    writeRanks();  // first, so that the file begins with a small packet, by which readers know it
    writeMetadata();
    makeRows();
    makeCounters();
    writeAllInOrder();
    out_.finish();
    return summary_;
  }

 private:
  /// The next packet of a source; the earliest comes first.
  struct Head {
    Nanoseconds time = 0;
    bool isEnd = false;
    std::uint32_t source = 0;

    bool operator<(const Head& other) const {
      if (time != other.time) return time < other.time;
      if (isEnd != other.isEnd) return isEnd;
      return source < other.source;
    }
  };

  void findFlows() {
    flows_.resize(timeline_.tracks.size());
    const auto flowOf = [&](Arrow::Slice slice) -> PerfettoFlow& {
      auto& list = flows_[slice.track];
      if (list.empty()) list.resize(timeline_.tracks[slice.track].events.size());
      return list[slice.event];
    };
    std::uint32_t id = 0;
    for (const Arrow& arrow : findMicroBatchArrows(timeline_)) {
      ++summary_.arrows;
      PerfettoFlow& from = flowOf(arrow.from);
      if (from.id == 0) from.id = ++id;
      from.isLast = false;
      const std::uint32_t chain = from.id;
      PerfettoFlow& to = flowOf(arrow.to);
      to.id = chain;
      to.isLast = true;
    }
    for (const Arrow& arrow : findLaunchArrows(timeline_)) {
      ++summary_.arrows;
      flowOf(arrow.from) = {.id = ++id};
      flowOf(arrow.to).endOfLaunch = id;
    }
  }

  void writeMetadata() {
    std::string ours;
    appendProfileMetadata(ours, timeline_, origin_);
    addMetadata(out_, pf::metadata::kOurs, ours);
    nlohmann::json lanes = nlohmann::json::array();
    std::uint32_t number = kFirstSequence;
    for (const ViewerRow& row : rows_.all()) {
      lanes.push_back({number++, row.pid - 1, row.lane});
    }
    for (const CounterSeries& series : timeline_.counters) {
      lanes.push_back({number++, series.rank, series.name});
    }
    addMetadata(out_, pf::metadata::kLanes,
                lanes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  std::uint64_t firstRankTrack() const {
    return kFirstSequence + rows_.all().size() + timeline_.counters.size();
  }
  std::uint64_t trackOfRank(int rank) const {
    return firstRankTrack() + 1 +
           static_cast<std::uint64_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) -
                                      ranks_.begin());
  }

  void writeRanks() {
    for (const auto& [rank, info] : timeline_.ranks) ranks_.push_back(rank);
    for (const Track& track : timeline_.tracks) ranks_.push_back(track.rank);
    for (const CounterSeries& series : timeline_.counters) ranks_.push_back(series.rank);
    std::sort(ranks_.begin(), ranks_.end());
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    std::uint64_t above = 0;
    if (!ranks_.empty() && ranks_.back() >= kFirstRankOutOfOrder) {
      above = firstRankTrack();
      writeTrack(above, descriptor(0, "ranks", 0));
    }
    for (const int rank : ranks_) {
      writeTrack(trackOfRank(rank), descriptor(above, "rank " + std::to_string(rank), rank));
    }
  }

  void writeTrack(std::uint64_t uuid, const std::string& descriptor) {
    std::string packet;
    {
      protozero::pbf_writer writer(packet);
      writer.add_uint32(pf::packet::kSequence, kOwnSequence);
      std::string track;
      protozero::pbf_writer(track).add_uint64(pf::track::kUuid, uuid);
      writer.add_message(pf::packet::kTrackDescriptor, track + descriptor);
    }
    addPacket(out_, packet);
  }

  Source& addSource(const std::string& descriptor) {
    const auto number = kFirstSequence + static_cast<std::uint32_t>(sources_.size());
    Source& source = sources_.emplace_back(Source{PerfettoSequence(timeline_, reserved_, number)});
    source.sequence.appendDescriptor(out_, descriptor);
    return source;
  }

  void makeRows() {
    const std::vector<ViewerRow>& rows = rows_.all();
    std::size_t row = 0;
    for (std::uint32_t t = 0; t < timeline_.tracks.size(); ++t) {
      const std::size_t events = timeline_.tracks[t].events.size();
      const std::size_t first = row;
      do {
        const std::uint64_t parent = trackOfRank(timeline_.tracks[t].rank);
        Source& source = addSource(descriptor(parent, rows[row].name, rows[row].sortIndex));
        source.track = t;
        source.count = events;
        ++row;
      } while (row < rows.size() && isSubLane(rows[row - 1], rows[row]));
      if (row - first > 1) spread(first, t);
    }
  }

  /// The rows of one track are neighbours.
  static bool isSubLane(const ViewerRow& row, const ViewerRow& next) {
    return row.pid == next.pid && row.lane == next.lane;
  }

  void spread(std::size_t firstRow, std::uint32_t track) {
    const ViewerRow* const rows = rows_.all().data();
    for (std::uint32_t e = 0; e < timeline_.tracks[track].events.size(); ++e) {
      sources_[static_cast<std::size_t>(&rows_.row(track, e) - rows)].events.push_back(e);
    }
    for (std::size_t i = firstRow; i < sources_.size(); ++i) {
      sources_[i].count = sources_[i].events.size();
    }
  }

  void makeCounters() {
    constexpr int kAfterEveryLane = 1 << 20;
    int order = kAfterEveryLane;
    for (const CounterSeries& series : timeline_.counters) {
      Source& source = addSource(counterDescriptor(trackOfRank(series.rank), series, order++));
      source.counter = &series;
      source.count = series.samples.size();
    }
  }

  std::uint32_t eventAt(const Source& source) const {
    return source.events.empty() ? static_cast<std::uint32_t>(source.next)
                                 : source.events[source.next];
  }

  /// Sets the time of the source's next packet; false when there is none.
  bool peek(Source& source, Head& head) const {
    if (source.counter != nullptr) {
      const auto& samples = source.counter->samples;
      while (source.next < samples.size() && !std::isfinite(samples[source.next].value)) {
        ++source.next;
      }
    }
    if (source.next == source.count) return false;
    head.isEnd = source.isOpen;
    if (source.counter != nullptr) {
      head.time = source.counter->samples[source.next].time;
    } else {
      const Event& event = timeline_.tracks[source.track].events[eventAt(source)];
      head.time = source.isOpen ? event.end : event.begin;
    }
    return true;
  }

  void writeNext(Source& source, Nanoseconds at) {
    const auto time = static_cast<std::uint64_t>(at - origin_);
    if (source.counter != nullptr) {
      source.sequence.appendSample(out_, time, source.counter->samples[source.next++].value);
      ++summary_.counters;
    } else if (source.isOpen) {
      source.sequence.appendEnd(out_, time);
      source.isOpen = false;
      ++source.next;
    } else {
      const std::uint32_t e = eventAt(source);
      const Track& track = timeline_.tracks[source.track];
      PerfettoFlow flow;
      if (!flows_.empty() && !flows_[source.track].empty()) flow = flows_[source.track][e];
      source.sequence.appendBegin(out_, track.events[e], time, flow);
      source.isOpen = true;
      summary_.add(track, track.events[e]);
    }
  }

  /// Merges the sources. The heap's top is replaced by the next packet of the same source, which
  /// often stays there.
  void writeAllInOrder() {
    std::vector<Head> heap;
    for (std::uint32_t i = 0; i < sources_.size(); ++i) {
      Head head{.source = i};
      if (peek(sources_[i], head)) heap.push_back(head);
    }
    const auto later = [](const Head& a, const Head& b) { return b < a; };
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      Source& source = sources_[heap.front().source];
      writeNext(source, heap.front().time);
      if (!peek(source, heap.front())) {
        std::pop_heap(heap.begin(), heap.end(), later);
        heap.pop_back();
      } else {
        sink(heap);
      }
    }
  }

  static void sink(std::vector<Head>& heap) {
    const Head moved = heap.front();
    std::size_t at = 0;
    for (std::size_t child = 1; child < heap.size(); child = 2 * at + 1) {
      if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
      if (!(heap[child] < moved)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
  }

  const Timeline& timeline_;
  PacketBuffer out_;
  ReservedKeys reserved_;
  ViewerRows rows_;
  Nanoseconds origin_ = 0;
  std::vector<int> ranks_;
  std::vector<std::vector<PerfettoFlow>> flows_;  // by track and event; empty: none there
  std::vector<Source> sources_;                   // rows, then counters
  ProfileSummary summary_;
};

}  // namespace

ProfileSummary writePerfetto(const Timeline& timeline, const PerfettoOptions& options,
                             OutputFile& out) {
  return ProfileWriter(timeline, options, out).write();
}

}  // namespace pipetrace
