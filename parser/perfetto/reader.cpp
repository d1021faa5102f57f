#include "parser/perfetto/reader.h"

#include <zlib.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "parser/byte_source.h"
#include "parser/perfetto/collector.h"
#include "parser/perfetto/event.h"
#include "parser/perfetto/format.h"
#include "parser/perfetto/wire.h"
#include "trace/nanoseconds.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

namespace {

/// The clocks of a Perfetto trace. It converts a packet's timestamp to the trace's own time, by the
/// last snapshot before the packet.
class PerfettoClocks {
 public:
  static constexpr std::uint64_t kTraceClock = 6;  ///< BOOTTIME, unless a snapshot says otherwise

  /// Adds a serialized ClockSnapshot of writer sequence `sequence`.
  void addSnapshot(std::uint32_t sequence, std::string_view snapshot);

  /// The time of `timestamp` on clock `id`. Nothing when it does not fit. `unrelated` is set when
  /// no snapshot relates that clock to the trace's time; the two are then taken to be the same.
  std::optional<Nanoseconds> toTrace(std::uint32_t sequence, std::uint64_t id,
                                     std::uint64_t timestamp, bool& unrelated);

 private:
  struct Clock {
    bool isIncremental = false;
    std::uint64_t multiplier = 1;        // nanoseconds of one unit
    std::uint64_t last = 0;              // in units, of an incremental clock
    std::optional<std::int64_t> offset;  // trace time minus this clock, in nanoseconds
  };

  Clock& clock(std::uint32_t sequence, std::uint64_t id);

  std::uint64_t traceClock_ = kTraceClock;
  std::unordered_map<std::uint64_t, Clock> clocks_;
};

// Numbers of fields, and of clocks, in protos/perfetto/trace/clock_snapshot.proto.
constexpr std::uint32_t kClocks = 1;
constexpr std::uint32_t kPrimaryClock = 2;
constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kTimestamp = 2;
constexpr std::uint32_t kIsIncremental = 3;
constexpr std::uint32_t kMultiplier = 4;
constexpr std::uint64_t kFirstOfSequence = 64;
constexpr std::uint64_t kLastOfSequence = 127;

struct Reading {
  std::uint64_t id = 0;
  std::uint64_t timestamp = 0;
  bool isIncremental = false;
  std::uint64_t multiplier = 1;
};

Reading readingFrom(std::string_view message) {
  Reading reading;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(kId)) reading.id = field.value;
    if (field.isVarint(kTimestamp)) reading.timestamp = field.value;
    if (field.isVarint(kIsIncremental)) reading.isIncremental = field.value != 0;
    if (field.isVarint(kMultiplier)) reading.multiplier = std::max<std::uint64_t>(field.value, 1);
  }
  return reading;
}

std::optional<Nanoseconds> toNanoseconds(std::uint64_t units, std::uint64_t multiplier) {
  Nanoseconds time = 0;
  if (__builtin_mul_overflow(units, multiplier, &time)) return std::nullopt;
  return time;
}

PerfettoClocks::Clock& PerfettoClocks::clock(std::uint32_t sequence, std::uint64_t id) {
  const bool isOfSequence = id >= kFirstOfSequence && id <= kLastOfSequence;
  return clocks_[isOfSequence ? (std::uint64_t{sequence} << 32) | id : id];
}

void PerfettoClocks::addSnapshot(std::uint32_t sequence, std::string_view snapshot) {
  std::vector<Reading> readings;
  WireFields fields(snapshot);
  for (WireField field; fields.next(field);) {
    if (field.isBytesOf(kClocks)) readings.push_back(readingFrom(field.bytes));
    if (field.isVarint(kPrimaryClock)) traceClock_ = field.value;
  }
  // The trace's time at the snapshot: that of its own clock, or of a clock related to it.
  std::optional<Nanoseconds> now;
  for (const Reading& reading : readings) {
    const auto time = toNanoseconds(reading.timestamp, reading.multiplier);
    if (!time) continue;
    if (reading.id == traceClock_) {
      now = time;
      break;
    }
    const auto offset = clock(sequence, reading.id).offset;
    Nanoseconds shifted = 0;
    if (!now && offset && !__builtin_add_overflow(*time, *offset, &shifted)) now = shifted;
  }
  for (const Reading& reading : readings) {
    Clock& known = clock(sequence, reading.id);
    known.isIncremental = reading.isIncremental;
    known.multiplier = reading.multiplier;
    known.last = reading.timestamp;
    const auto time = toNanoseconds(reading.timestamp, reading.multiplier);
    std::int64_t offset = 0;
    if (now && time && !__builtin_sub_overflow(*now, *time, &offset)) known.offset = offset;
  }
}

std::optional<Nanoseconds> PerfettoClocks::toTrace(std::uint32_t sequence, std::uint64_t id,
                                                   std::uint64_t timestamp, bool& unrelated) {
  if (id == traceClock_) return toNanoseconds(timestamp, 1);
  Clock& from = clock(sequence, id);
  std::uint64_t units = timestamp;
  if (from.isIncremental) {
    if (__builtin_add_overflow(from.last, timestamp, &units)) return std::nullopt;
    from.last = units;
  }
  const auto time = toNanoseconds(units, from.multiplier);
  unrelated = !from.offset;
  Nanoseconds shifted = 0;
  if (!time || __builtin_add_overflow(*time, from.offset.value_or(0), &shifted)) {
    return std::nullopt;
  }
  return shifted;
}

/// Cuts a Perfetto trace into its packets. It holds no more of the trace than the largest packet.
class PerfettoPackets {
 public:
  explicit PerfettoPackets(ByteSource& source) : source_(source) {}

  /// The next packet; the view holds until the next call. False at the end.
  bool next(std::string_view& packet);

  /// Whether the input ends in the middle of a packet.
  bool cutOff() const { return cutOff_; }
  /// Whether next() stopped at a place from which on the input is no Perfetto trace.
  bool broken() const { return broken_; }
  /// The number of fields beside the packets, which mean nothing here.
  std::int64_t unknownFields() const { return unknownFields_; }

 private:
  bool fill(std::size_t size);
  bool readVarint(std::uint64_t& value);
  bool take(std::uint64_t size, std::string_view& bytes);
  bool skip(std::uint32_t wireType);

  ByteSource& source_;
  std::string window_;
  std::size_t at_ = 0;
  bool cutOff_ = false;
  bool broken_ = false;
  std::int64_t unknownFields_ = 0;
};

constexpr std::size_t kTraceReadSize = std::size_t{1} << 20;
constexpr std::uint32_t kLengthDelimited = 2;

/// Whether `size` bytes stand at at_. Reads on in steps, so that a length that only claims to be
/// large costs no memory.
bool PerfettoPackets::fill(std::size_t size) {
  if (window_.size() - at_ >= size) return true;
  window_.erase(0, at_);
  at_ = 0;
  while (window_.size() < size) {
    const std::size_t before = window_.size();
    window_.resize(before + kTraceReadSize);
    const std::size_t got = source_.read(window_.data() + before, kTraceReadSize);
    window_.resize(before + got);
    if (got == 0) return false;
  }
  return true;
}

bool PerfettoPackets::readVarint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!fill(1)) {
      cutOff_ = true;
      return false;
    }
    const auto byte = static_cast<unsigned char>(window_[at_++]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  broken_ = true;
  return false;
}

bool PerfettoPackets::take(std::uint64_t size, std::string_view& bytes) {
  if (!fill(size)) {
    cutOff_ = true;
    return false;
  }
  bytes = std::string_view(window_).substr(at_, size);
  at_ += size;
  return true;
}

bool PerfettoPackets::skip(std::uint32_t wireType) {
  std::uint64_t value = 0;
  std::string_view ignored;
  switch (wireType) {
    case 0: return readVarint(value);
    case 1: return take(8, ignored);
    case kLengthDelimited: return readVarint(value) && take(value, ignored);
    case 5: return take(4, ignored);
    default: broken_ = true; return false;
  }
}

bool PerfettoPackets::next(std::string_view& packet) {
  while (!cutOff_ && !broken_ && fill(1)) {
    std::uint64_t tag = 0;
    if (!readVarint(tag)) return false;
    const auto wireType = static_cast<std::uint32_t>(tag & 7);
    if (tag >> 3 == 0) {
      broken_ = true;
    } else if (tag >> 3 == perfetto_format::kPacket && wireType == kLengthDelimited) {
      std::uint64_t size = 0;
      return readVarint(size) && take(size, packet);
    } else {
      unknownFields_ += skip(wireType) ? 1 : 0;
    }
  }
  return false;
}

namespace pf = perfetto_format;

/// The parts of a packet that are used.
struct Packet {
  std::optional<std::uint64_t> timestamp;
  std::optional<std::uint64_t> clock;
  std::uint32_t sequence = 0;
  std::uint64_t flags = 0;
  bool dropped = false;
  std::string_view event;
  std::string_view interned;
  std::string_view defaults;
  std::string_view descriptor;
  std::string_view snapshot;
  std::string_view metadata;
  std::string_view compressed;
  bool hasOther = false;  // data of another kind

  explicit Packet(std::string_view bytes) {
    WireFields fields(bytes);
    for (WireField field; fields.next(field);) add(field);
  }

 private:
  void add(const WireField& field) {
    switch (field.number) {
      case pf::packet::kTimestamp: timestamp = field.value; break;
      case pf::packet::kTimestampClock: clock = field.value; break;
      case pf::packet::kSequence: sequence = static_cast<std::uint32_t>(field.value); break;
      case pf::packet::kSequenceFlags: flags |= field.value; break;
      case pf::packet::kStateCleared:
        if (field.value != 0) flags |= pf::kIncrementalStateCleared;
        break;
      case pf::packet::kPreviousDropped: dropped = field.value != 0; break;
      case pf::packet::kTrackEvent: event = whole(field.bytes); break;
      case pf::packet::kInternedData: interned = field.bytes; break;
      case pf::packet::kDefaults: defaults = field.bytes; break;
      case pf::packet::kTrackDescriptor: descriptor = field.bytes; break;
      case pf::packet::kClockSnapshot: snapshot = field.bytes; break;
      case pf::packet::kChromeEvents: metadata = field.bytes; break;
      case pf::packet::kCompressedPackets: compressed = field.bytes; break;
      default: hasOther = hasOther || (field.isBytes && !isHousekeeping(field.number)); break;
    }
  }

  /// An event without any field is an event all the same.
  static std::string_view whole(std::string_view bytes) {
    static constexpr std::string_view kEmpty("");
    return bytes.data() == nullptr ? kEmpty : bytes;
  }

  /// Whether a field is the configuration or the statistics of the recording, a mark, or a name of
  /// the system.
  static bool isHousekeeping(std::uint32_t field) {
    constexpr std::uint32_t kFields[] = {33, 34, 35, 36, 45, 46, 51, 69, 72, 78, 89};
    return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
  }
};

class TraceReading {
 public:
  TraceReading(ByteSource& source, Timeline& timeline, Diagnostics& diagnostics)
      : source_(source),
        timeline_(timeline),
        diagnostics_(diagnostics),
        collector_(timeline, diagnostics, source.name()) {}

  void readAll() {
    PerfettoPackets packets(source_);
    for (std::string_view packet; packets.next(packet);) readPacket(packet);
    if (packets.cutOff()) {
      complain("the file ends in the middle of a packet",
               "events are missing; copy or record it again");
    }
    if (packets.broken()) {
      complain("from some place on the file is no Perfetto trace; what came before was read",
               "copy or record it again");
    }
    note("a field beside the packets was left out", packets.unknownFields());
  }

  std::int64_t finish(const ReadRequest& request) {
    note("an instant or an event without length was left out", instants_);
    note("a packet of another data source, which holds nothing to draw, was left out", others_);
    note("an argument that is a list or a dictionary was left out", lostArguments_);
    note("a sample of an extra counter was left out", extraCounters_);
    return collector_.finish(request);
  }
  bool isRankGuessed() const { return collector_.isRankGuessed(); }

  std::int64_t packets() const { return packets_; }
  std::int64_t arrows() const { return arrows_; }

 private:
  void complain(const char* message, const char* advice = "") {
    diagnostics_.add({.file = source_.name(), .message = message, .advice = advice});
  }

  void note(const char* message, std::int64_t count) {
    if (count == 0) return;
    diagnostics_.add(
        {.severity = Severity::kNote, .file = source_.name(), .message = message, .count = count});
  }

  void readPacket(std::string_view bytes) {
    ++packets_;
    try {
      takeIn(Packet(bytes));
    } catch (const protozero::exception&) {
      complain("a packet is malformed and was left out");
    }
  }

  void takeIn(const Packet& packet) {
    if (!packet.compressed.empty()) return inflate(packet.compressed);
    PerfettoState& state = stateOf(packet.sequence);
    if (packet.dropped) state.isValid = false;
    if ((packet.flags & pf::kIncrementalStateCleared) != 0) {
      state.clear();
      state.isValid = true;
    }
    if (!packet.interned.empty()) state.addInterned(packet.interned, timeline_.strings);
    if (!packet.defaults.empty()) state.setDefaults(packet.defaults);
    if (!packet.snapshot.empty()) clocks_.addSnapshot(packet.sequence, packet.snapshot);
    if (!packet.descriptor.empty()) collector_.addDescriptor(packet.descriptor);
    if (!packet.metadata.empty()) collector_.addMetadata(packet.metadata);
    if (packet.hasOther) ++others_;
    if (packet.event.data() != nullptr) takeEvent(packet, state);
  }

  PerfettoState& stateOf(std::uint32_t sequence) {
    if (lastState_ == nullptr || sequence != lastSequence_) {
      lastSequence_ = sequence;
      lastState_ = &states_[sequence];
    }
    return *lastState_;
  }

  void takeEvent(const Packet& packet, const PerfettoState& state) {
    const auto time = timeOf(packet, state);
    if ((packet.flags & pf::kNeedsIncrementalState) != 0 && !state.isValid) {
      return complain("an event refers to what was lost before it and was left out",
                      "record with a larger buffer");
    }
    const PerfettoEvent event = readPerfettoEvent(packet.event, state, timeline_);
    lostArguments_ += event.lostArguments;
    if (event.hasExtraCounters) ++extraCounters_;
    countArrows(event);
    if (event.lostName) complain("an event has a name that the trace does not say");
    if (event.type != pf::event::kBegin && event.type != pf::event::kEnd &&
        event.type != pf::event::kCounter) {
      ++instants_;
      return;
    }
    if (!time || event.hasDelta || event.absoluteUs) {
      return diagnostics_.add({.file = source_.name(),
                               .message = "an event has no time that can be used and was left out",
                               .doubt = DoubtKind::kNoTime});
    }
    collector_.add(event.track.value_or(state.track.value_or(0)), event, *time);
  }

  /// An arrow comes from the previous slice of the same flow.
  void countArrows(const PerfettoEvent& event) {
    for (const std::uint64_t flow : event.flows) {
      if (!flows_.insert(flow).second) ++arrows_;
    }
    for (const std::uint64_t flow : event.endedFlows) {
      arrows_ += static_cast<std::int64_t>(flows_.erase(flow));
    }
  }

  std::optional<Nanoseconds> timeOf(const Packet& packet, const PerfettoState& state) {
    if (!packet.timestamp) return std::nullopt;
    const std::uint64_t clock =
        packet.clock.value_or(state.clock.value_or(PerfettoClocks::kTraceClock));
    bool isUnrelated = false;
    const auto time = clocks_.toTrace(packet.sequence, clock, *packet.timestamp, isUnrelated);
    if (isUnrelated) {
      complain("an event's clock is in no snapshot of clocks; its times are taken as they are");
    }
    return time;
  }

  /// Reads packets in zlib's format within a packet.
  void inflate(std::string_view compressed) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    std::string bytes;
    z_stream stream{};
    if (isInflating_ || inflateInit(&stream) != Z_OK) {
      return complain("a packet of compressed packets cannot be read");
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream.avail_in = static_cast<uInt>(compressed.size());
    int result = Z_OK;
    while (result == Z_OK && bytes.size() < kMost) {
      const std::size_t before = bytes.size();
      bytes.resize(before + (std::size_t{1} << 18));
      stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
      stream.avail_out = static_cast<uInt>(bytes.size() - before);
      result = ::inflate(&stream, Z_NO_FLUSH);
      bytes.resize(bytes.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (result != Z_STREAM_END) complain("compressed packets are damaged; some of them are lost");
    isInflating_ = true;
    ByteSource inner(source_.name(), std::move(bytes));
    PerfettoPackets packets(inner);
    for (std::string_view packet; packets.next(packet);) readPacket(packet);
    if (packets.cutOff() || packets.broken()) {
      complain("compressed packets are damaged; some of them are lost");
    }
    isInflating_ = false;
  }

  ByteSource& source_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
  PerfettoCollector collector_;
  PerfettoClocks clocks_;
  std::unordered_map<std::uint32_t, PerfettoState> states_;
  std::uint32_t lastSequence_ = 0;
  PerfettoState* lastState_ = nullptr;
  bool isInflating_ = false;
  std::unordered_set<std::uint64_t> flows_;  // that have begun and not ended
  std::int64_t arrows_ = 0;
  std::int64_t packets_ = 0;
  std::int64_t instants_ = 0;
  std::int64_t others_ = 0;
  std::int64_t lostArguments_ = 0;
  std::int64_t extraCounters_ = 0;
};

/// Whether a packet is well-formed and has a field that most packets have.
bool isPacket(std::string_view bytes) {
  bool isKnown = false;
  try {
    WireFields fields(bytes);
    for (WireField field; fields.next(field);) {
      isKnown = isKnown || field.isVarint(pf::packet::kSequence) ||
                field.isVarint(pf::packet::kTimestamp) ||
                field.isBytesOf(pf::packet::kClockSnapshot) ||
                field.isBytesOf(pf::packet::kTrackDescriptor) ||
                field.isBytesOf(pf::packet::kCompressedPackets);
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return isKnown;
}

}  // namespace

FormatMatch PerfettoReader::probe(std::string_view head) const {
  constexpr char kPacketTag = static_cast<char>((pf::kPacket << 3) | 2);
  if (!head.starts_with(kPacketTag)) return FormatMatch::kNo;
  const bool isWhole = head.size() < kProbeSize;
  ByteSource source("head", std::string(head));
  PerfettoPackets packets(source);
  std::string_view packet;
  if (packets.next(packet)) return isPacket(packet) ? FormatMatch::kCertain : FormatMatch::kNo;
  // The first packet is longer than the head, or the file is cut off in it.
  return packets.cutOff() && !isWhole ? FormatMatch::kPossible : FormatMatch::kNo;
}

ReadOutcome PerfettoReader::read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                                 Diagnostics& diagnostics) const {
  TraceReading reading(source, timeline, diagnostics);
  reading.readAll();
  if (request.run >= 0) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "a profile holds one run only, which was read whatever --run says"});
  }
  ReadOutcome outcome;
  outcome.events = reading.finish(request);
  outcome.process.isRankGuessed = reading.isRankGuessed();
  outcome.arrows = reading.arrows();
  if (outcome.events == 0) {
    outcome.whyNone = "it is a Perfetto trace of " + std::to_string(reading.packets()) +
                      " packets, none of them the start of a slice";
  }
  return outcome;
}

}  // namespace pipetrace
