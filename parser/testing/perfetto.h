#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/perfetto/wire.h"

namespace pipetrace::test {

// Types of a TrackEvent, from Perfetto's track_event.proto.
inline constexpr std::uint64_t kSliceBegin = 1;
inline constexpr std::uint64_t kSliceEnd = 2;
inline constexpr std::uint64_t kCounterValue = 4;

/// A Perfetto trace as any protobuf reader sees it. The tests' own decoder knows the field numbers
/// from Perfetto's .proto files. A field that must not be there fails the test.
class DecodedPerfetto {
 public:
  /// A packet, the interned names looked up.
  struct Packet {
    std::uint64_t time = 0;
    std::uint64_t sequence = 0;
    std::uint64_t flags = 0;
    bool isFirst = false;
    bool isEvent = false;
    std::uint64_t type = 0;
    std::uint64_t track = 0;
    std::string name;
    std::string category;
    std::vector<std::uint64_t> flows;
    std::vector<std::uint64_t> lastFlows;
    std::map<std::string, std::string> arguments;
    double value = 0;
  };

  /// The contents of a track descriptor.
  struct TrackDescriptor {
    std::string name;
    std::uint64_t parent = 0;
    std::int64_t order = 0;
    bool isCounter = false;
    std::string unit;
  };

  explicit DecodedPerfetto(std::string_view bytes) {
    WireFields trace(bytes);
    for (WireField f; trace.next(f);) {
      EXPECT_TRUE(f.isBytesOf(1));
      addPacket(f.bytes);
    }
  }

  std::vector<Packet> ofType(std::uint64_t type) const {
    std::vector<Packet> list;
    for (const Packet& p : packets) {
      if (p.isEvent && p.type == type) list.push_back(p);
    }
    return list;
  }

  std::vector<Packet> packets;
  std::map<std::uint64_t, TrackDescriptor> tracks;

 private:
  using Names = std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>;  // (table, iid)

  void addPacket(std::string_view bytes) {
    Packet p;
    std::string_view event;
    std::string_view interned;
    WireFields fields(bytes);
    for (WireField f; fields.next(f);) {
      if (f.number == 8) p.time = f.value;
      if (f.number == 10) p.sequence = f.value;
      if (f.number == 13) p.flags = f.value;
      if (f.number == 87) p.isFirst = f.value != 0;
      if (f.number == 12) interned = f.bytes;
      if (f.number == 11) event = f.bytes, p.isEvent = true;
      if (f.number == 60) addDescriptor(f.bytes);
    }
    Names& names = names_[p.sequence];
    WireFields tables(interned);
    for (WireField table; tables.next(table);) {
      std::uint64_t iid = 0;
      WireFields entry(table.bytes);
      for (WireField f; entry.next(f);) {
        if (f.number == 1) iid = f.value;
        if (f.number == 2) {
          EXPECT_TRUE(names.emplace(std::pair(table.number, iid), f.bytes).second);
        }
      }
    }
    readEvent(event, names, p);
    packets.push_back(std::move(p));
  }

  static void readEvent(std::string_view event, const Names& names, Packet& p) {
    WireFields fields(event);
    for (WireField f; fields.next(f);) {
      if (f.number == 9) p.type = f.value;
      if (f.number == 11) p.track = f.value;
      if (f.number == 10) p.name = names.at({2, f.value});
      if (f.number == 3) p.category = names.at({1, f.value});
      if (f.number == 47) p.flows.push_back(f.value);
      if (f.number == 48) p.lastFlows.push_back(f.value);
      if (f.number == 44) p.value = std::bit_cast<double>(f.value);
      if (f.number != 4) continue;
      std::string key;
      std::string text;
      WireFields annotation(f.bytes);
      for (WireField a; annotation.next(a);) {
        if (a.number == 1) key = names.at({3, a.value});
        if (a.number == 4) text = std::to_string(a.integer());
        if (a.number == 5) text = std::to_string(std::bit_cast<double>(a.value));
        if (a.number == 6) text = a.bytes;
        if (a.number == 17) text = names.at({29, a.value});
      }
      EXPECT_TRUE(p.arguments.emplace(key, text).second) << key;
    }
  }

  void addDescriptor(std::string_view bytes) {
    TrackDescriptor d;
    std::uint64_t uuid = 0;
    WireFields fields(bytes);
    for (WireField f; fields.next(f);) {
      if (f.number == 1) uuid = f.value;
      if (f.number == 2) d.name = f.bytes;
      if (f.number == 5) d.parent = f.value;
      if (f.number == 8) d.isCounter = true, d.unit = f.bytes;
      EXPECT_TRUE(f.number != 11 || f.value == 3U);  // children in explicit order
      if (f.number == 12) d.order = f.integer();
    }
    EXPECT_TRUE(tracks.emplace(uuid, d).second) << uuid;
  }

  std::map<std::uint64_t, Names> names_;
};

}  // namespace pipetrace::test
