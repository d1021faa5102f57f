#include "runtime/starting_ranks/hosts/host_message.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "trace/error.h"

namespace pipetrace {
namespace {

using Json = nlohmann::json;
using Kind = HostMessage::Kind;

constexpr std::array<std::string_view, 14> kKinds = {
    "beat",  "hello",  "prepare", "prepared", "refused", "reach", "reached",
    "start", "signal", "log",     "file",     "ended",   "done",  "bye"};

constexpr std::size_t kMostBytes = 64 << 20;  // which nobody sends at once

Json placeToJson(const RankPlace& place) {
  return {{"rank", place.rank},           {"ranks", place.ranks},
          {"localRank", place.localRank}, {"localRanks", place.localRanks},
          {"recording", place.recording}, {"devices", place.devices},
          {"restart", place.restart}};
}

RankPlace placeFrom(const Json& json) {
  RankPlace place;
  place.rank = json.at("rank");
  place.ranks = json.at("ranks");
  place.localRank = json.at("localRank");
  place.localRanks = json.at("localRanks");
  place.recording = json.at("recording");
  place.devices = json.at("devices");
  place.restart = json.at("restart");
  return place;
}

/// The same list of fields writes and reads a message.
struct Writer {
  Json& json;
  template <typename Value>
  void field(const char* name, const Value& value) const {
    json[name] = value;
  }
  void places(const std::vector<RankPlace>& places) const {
    json["places"] = Json::array();
    for (const RankPlace& place : places) json["places"].push_back(placeToJson(place));
  }
};

struct Reader {
  const Json& json;
  template <typename Value>
  void field(const char* name, Value& value) const {
    json.at(name).get_to(value);
  }
  void places(std::vector<RankPlace>& places) const {
    for (const Json& one : json.at("places")) places.push_back(placeFrom(one));
  }
};

template <typename Visitor, typename Message>
void visitFields(const Visitor& visitor, Message& message) {
  switch (message.kind) {
    case Kind::kBeat:
    case Kind::kBye: break;
    case Kind::kHello:
      visitor.field("protocol", message.protocol);
      visitor.field("version", message.version);
      break;
    case Kind::kPrepare:
      visitor.field("command", message.command);
      visitor.field("directory", message.directory);
      visitor.field("environment", message.environment);
      visitor.places(message.places);
      visitor.field("meets", message.meets);
      visitor.field("port", message.port);
      break;
    case Kind::kPrepared:
      visitor.field("addresses", message.addresses);
      visitor.field("port", message.port);
      visitor.field("token", message.token);
      visitor.field("text", message.text);
      break;
    case Kind::kRefused: visitor.field("text", message.text); break;
    case Kind::kReach:
      visitor.field("addresses", message.addresses);
      visitor.field("port", message.port);
      visitor.field("token", message.token);
      break;
    case Kind::kReached: visitor.field("addresses", message.addresses); break;
    case Kind::kStart:
      visitor.field("address", message.address);
      visitor.field("port", message.port);
      break;
    case Kind::kSignal: visitor.field("number", message.number); break;
    case Kind::kLog:
      visitor.field("rank", message.rank);
      visitor.field("bytes", message.bytes);
      break;
    case Kind::kFile:
      visitor.field("name", message.name);
      visitor.field("bytes", message.bytes);
      break;
    case Kind::kEnded:
      visitor.field("rank", message.rank);
      visitor.field("succeeded", message.succeeded);
      visitor.field("wasKilled", message.wasKilled);
      visitor.field("text", message.text);
      break;
    case Kind::kDone: visitor.field("warnings", message.warnings); break;
  }
}

}  // namespace

std::string toLine(const HostMessage& message) {
  Json json;
  json["kind"] = kKinds.at(static_cast<std::size_t>(message.kind));
  visitFields(Writer{json}, message);
  try {
    const std::string greeting = message.kind == Kind::kHello ? kAgentGreeting : "";
    return greeting + json.dump() + '\n';
  } catch (const Json::exception&) {
    throw Error("a name or a path is no UTF-8, so it cannot be sent to other hosts: " +
                json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 1000));
  }
}

HostMessage readHostMessage(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    const std::string kind = json.at("kind");
    HostMessage message;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (kKinds[i] != kind) continue;
      message.kind = static_cast<Kind>(i);
      visitFields(Reader{json}, message);
      if (message.bytes > kMostBytes) break;
      return message;
    }
  } catch (const Json::exception&) {
  }
  throw Error("the other side sent what is no message: " + line.substr(0, 200));
}

}  // namespace pipetrace
