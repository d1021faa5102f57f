#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

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

}  // namespace pipetrace
