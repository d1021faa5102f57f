#include "runtime/starting_ranks/hosts/message_channel.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr std::chrono::seconds kBeat{1};
constexpr int kWriterLookMs = 100;  // how often a writer that waits looks whether it shall end
// As much as may come at once, so that a fast sender does not keep the reader from other work.
constexpr std::size_t kMostAtOnce = 4 << 20;

bool isReady(int fd, short events, int timeoutMs) {
  pollfd one{fd, events, 0};
  return poll(&one, 1, timeoutMs) > 0;
}

}  // namespace

MessageSender::MessageSender(int fd) : fd_(fd), thread_([this] { run(); }) {}

MessageSender::~MessageSender() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MessageSender::send(const HostMessage& message, const std::string& bytes) {
  std::string text = toLine(message) + bytes;
  {
    const std::lock_guard lock(mutex_);
    if (hasFailed_) return;
    pending_ += text.size();
    texts_.push_back(std::move(text));
  }
  changed_.notify_all();
}

std::size_t MessageSender::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_;
}

void MessageSender::flush(Nanoseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(limit),
                    [&] { return pending_ == 0 || hasFailed_; });
}

void MessageSender::run() {
  static const std::string beat = toLine({.kind = HostMessage::Kind::kBeat});
  std::unique_lock lock(mutex_);
  while (!ending_ && !hasFailed_) {
    changed_.wait_for(lock, kBeat, [&] { return !texts_.empty() || ending_; });
    if (ending_) return;
    std::string text = beat;
    const bool isBeat = texts_.empty();
    if (!isBeat) {
      text = std::move(texts_.front());
      texts_.pop_front();
    }
    lock.unlock();
    const bool written = writeAll(text);
    lock.lock();
    if (!isBeat) pending_ -= text.size();
    hasFailed_ = !written;
    changed_.notify_all();
  }
}

bool MessageSender::writeAll(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!isReady(fd_, POLLOUT, kWriterLookMs)) {
      const std::lock_guard lock(mutex_);
      if (ending_) return false;
      continue;
    }
    // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
    const ssize_t n = write(fd_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

MessageReader::MessageReader(int fd, bool isGreeted)
    : fd_(fd), awaitsGreeting_(isGreeted), lastHeard_(monotonicNow()) {}

bool MessageReader::readSome() {
  std::array<char, 64 * 1024> buffer;
  std::size_t atOnce = 0;
  while (!isClosed_ && atOnce < kMostAtOnce && isReady(fd_, POLLIN, 0)) {
    const ssize_t n = read(fd_, buffer.data(), buffer.size());
    if (n > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(n));
      atOnce += static_cast<std::size_t>(n);
      lastHeard_ = monotonicNow();
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      isClosed_ = true;
    }
  }
  return !isClosed_;
}

std::optional<MessageReader::Received> MessageReader::next() {
  if (awaitsGreeting_) {
    const std::size_t at = received_.find(kAgentGreeting);
    const std::size_t end = at == std::string::npos ? at : received_.find('\n', at);
    if (end == std::string::npos) {
      // A line that may become a greeting stays.
      const std::size_t line = at != std::string::npos ? at : received_.rfind('\n') + 1;
      stray_ += received_.substr(0, line);
      received_.erase(0, line);
      return std::nullopt;
    }
    awaitsGreeting_ = false;
    stray_ += received_.substr(0, at);
    received_.erase(0, at + std::string_view(kAgentGreeting).size());
  }
  if (!head_) {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    head_ = readHostMessage(received_.substr(0, end));
    received_.erase(0, end + 1);
  }
  if (received_.size() < head_->bytes) return std::nullopt;
  Received result{*std::exchange(head_, std::nullopt), {}};
  result.bytes = received_.substr(0, result.message.bytes);
  received_.erase(0, result.message.bytes);
  return result;
}

std::string MessageReader::takeStrayText(bool everything) {
  if (awaitsGreeting_ && everything) stray_ += std::exchange(received_, {});
  return std::exchange(stray_, {});
}

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
