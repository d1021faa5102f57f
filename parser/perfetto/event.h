#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The data of earlier packets of one writer sequence that later packets refer to.
class PerfettoState {
 public:
  /// The meaning of an annotation's name.
  struct Key {
    enum class Field : std::uint8_t {
      kNone,
      kJob,
      kStep,
      kMicroBatch,
      kStage,
      kChunk,
      kPart,
      kNumber,
      kPeer,
      kPhase,
      kClass,
      kOwnName,
    };
    Field field = Field::kNone;
    StringId text = 0;  ///< without its escape
  };

  struct Text {
    StringId id = 0;
    JobKind kind = JobKind::kOther;  ///< the kind that a category of this name means
  };

  static Key keyOf(std::string_view name, StringTable& strings);

  /// Forgets everything: SEQ_INCREMENTAL_STATE_CLEARED.
  void clear();
  /// Adds a serialized InternedData or TracePacketDefaults. Throws protozero::exception.
  void addInterned(std::string_view message, StringTable& strings);
  void setDefaults(std::string_view message);

  bool isValid = false;  ///< nothing that packets of this sequence refer to has been lost
  std::optional<std::uint64_t> track;  ///< of events that name none
  std::optional<std::uint64_t> clock;  ///< of packets that name none

  const Text* name(std::uint64_t iid) const { return find(names_, iid); }
  const Text* category(std::uint64_t iid) const { return find(categories_, iid); }
  const Text* text(std::uint64_t iid) const { return find(texts_, iid); }
  const Key* key(std::uint64_t iid) const { return find(keys_, iid); }

 private:
  template <typename Value>
  using ByIid = std::unordered_map<std::uint64_t, Value>;

  template <typename Value>
  static const Value* find(const ByIid<Value>& map, std::uint64_t iid) {
    const auto found = map.find(iid);
    return found == map.end() ? nullptr : &found->second;
  }

  ByIid<Text> names_;
  ByIid<Text> categories_;
  ByIid<Text> texts_;
  ByIid<Key> keys_;
};

/// The contents of one TrackEvent.
struct PerfettoEvent {
  std::uint64_t type = 0;                   ///< perfetto_format::event::kBegin, ...
  std::optional<std::uint64_t> track;       ///< its own, else the sequence's
  std::optional<std::uint64_t> absoluteUs;  ///< a time of its own, of old traces
  bool hasDelta = false;                    ///< its time counts from an event before: of old traces
  Event event;                              ///< times apart
  double value = 0;                         ///< of a counter
  bool hasInteger = false;                  ///< the value is `integer`
  std::int64_t integer = 0;
  std::int64_t lostArguments = 0;  ///< nested ones, and those whose name was lost
  bool lostName = false;
  bool hasExtraCounters = false;
  std::vector<std::uint64_t> flows;       ///< flows that go through it ...
  std::vector<std::uint64_t> endedFlows;  ///< ... and those that end in it
};

/// Reads a serialized TrackEvent; strings and arguments go into `timeline`. Throws
/// protozero::exception when the bytes are no message.
PerfettoEvent readPerfettoEvent(std::string_view message, const PerfettoState& state,
                                Timeline& timeline);

}  // namespace pipetrace
