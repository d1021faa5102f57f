#include "runtime/control/verdict/control_message.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr int kLengthBytes = 4;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // a cycle of 65 534 ranks: 4 MB
constexpr std::size_t kMostReason = std::size_t{1} << 16;
constexpr std::size_t kMostName = 128;  // as many hosts as ranks: 11 MB

// The lowest byte first.
void appendNumber(std::string& bytes, std::uint64_t value, int size) {
  for (int byte = 0; byte < size; ++byte) bytes += static_cast<char>(value >> 8 * byte & 0xFF);
}

std::uint64_t numberIn(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t byte = bytes.size(); byte-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[byte]);
  }
  return value;
}

Error notAMessage() {
  return Error(
      "a control connection carried bytes that are no message; start all ranks with the same "
      "version of the program");
}

class ByteWriter {
 public:
  void number(std::uint64_t value) { appendNumber(bytes_, value, 8); }
  void integer(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  void status(const ActionStatus& s) {
    integer(s.action);
    const auto program = static_cast<std::uint64_t>(s.program);
    number((s.inside ? 1U : 0U) | (s.finishing ? 2U : 0U) | program << 2);
    integer(s.awaited.peer);
    number(s.awaited.number);
    number(s.ended);
    integer(s.idle);
    number(s.sequence);
  }
  void cause(const FailureCause& c) {
    number(static_cast<std::uint64_t>(c.kind));
    integer(c.rank);
    status(c.status);
    integer(c.lasted);
    text(std::string_view(c.reason).substr(0, kMostReason));
    number(c.cycle.size());
    for (const FailureCause::Member& member : c.cycle) {
      integer(member.rank);
      status(member.status);
    }
    hosts(c.hosts);
    hosts(c.missedBy);
  }
  void hosts(const std::vector<HostRanks>& all) {
    number(all.size());
    for (const HostRanks& host : all) {
      text(std::string_view(host.name).substr(0, kMostName));
      ranks(host.ranks);
    }
  }
  void ranks(const std::vector<int>& all) {
    number(all.size());
    for (const int rank : all) integer(rank);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() { return numberIn(take(8)); }
  std::int64_t integer() { return static_cast<std::int64_t>(number()); }
  int rank() { return static_cast<int>(integer()); }
  std::string text() { return std::string(take(number())); }
  ActionStatus status() {
    ActionStatus s;
    s.action = integer();
    const std::uint64_t flags = number();
    s.inside = (flags & 1) != 0;
    s.finishing = (flags & 2) != 0;
    s.program = static_cast<int>(flags >> 2);
    s.awaited.peer = rank();
    s.awaited.number = number();
    s.ended = number();
    s.idle = integer();
    s.sequence = number();
    return s;
  }
  FailureCause cause() {
    FailureCause c;
    const std::uint64_t kind = number();
    if (kind > static_cast<std::uint64_t>(CauseKind::kStopped)) throw notAMessage();
    c.kind = static_cast<CauseKind>(kind);
    c.rank = rank();
    c.status = status();
    c.lasted = integer();
    c.reason = text();
    const std::uint64_t members = number();
    for (std::uint64_t i = 0; i < members; ++i) {
      FailureCause::Member member;
      member.rank = rank();
      member.status = status();
      c.cycle.push_back(member);
    }
    c.hosts = hosts();
    c.missedBy = hosts();
    return c;
  }
  std::vector<HostRanks> hosts() {
    std::vector<HostRanks> all;
    for (std::uint64_t left = number(); left > 0; --left) {
      HostRanks host;
      host.name = text();
      host.ranks = ranks();
      all.push_back(std::move(host));
    }
    return all;
  }
  // Takes no memory ahead for what the bytes only claim to hold.
  std::vector<int> ranks() {
    std::vector<int> all;
    for (std::uint64_t left = number(); left > 0; --left) all.push_back(rank());
    return all;
  }
  void end() const {
    if (!bytes_.empty()) throw notAMessage();
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (bytes_.size() < size) throw notAMessage();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

ControlMessage decode(std::string_view bytes) {
  ByteReader reader(bytes);
  ControlMessage message;
  const std::uint64_t word = reader.number();
  if (word > static_cast<std::uint64_t>(ControlWord::kBye)) throw notAMessage();
  message.word = static_cast<ControlWord>(word);
  message.rank = reader.rank();
  switch (message.word) {
    case ControlWord::kHello: message.token = reader.text(); break;
    case ControlWord::kStatus:
    case ControlWord::kFinished: message.status = reader.status(); break;
    case ControlWord::kNoticed:
      message.cause = reader.cause();
      message.noticed = reader.integer();
      break;
    case ControlWord::kMissed: message.missed = reader.ranks(); break;
    case ControlWord::kVerdict: message.cause = reader.cause(); break;
    case ControlWord::kBye: break;
  }
  reader.end();
  return message;
}

}  // namespace

std::string encode(const ControlMessage& message) {
  ByteWriter writer;
  writer.number(static_cast<std::uint64_t>(message.word));
  writer.integer(message.rank);
  switch (message.word) {
    case ControlWord::kHello: writer.text(message.token); break;
    case ControlWord::kStatus:
    case ControlWord::kFinished: writer.status(message.status); break;
    case ControlWord::kNoticed:
      writer.cause(message.cause);
      writer.integer(message.noticed);
      break;
    case ControlWord::kMissed: writer.ranks(message.missed); break;
    case ControlWord::kVerdict: writer.cause(message.cause); break;
    case ControlWord::kBye: break;
  }
  std::string bytes;
  appendNumber(bytes, writer.bytes().size(), kLengthBytes);
  return bytes + writer.bytes();
}

std::optional<ControlMessage> takeMessage(std::string& bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = numberIn(std::string_view(bytes).substr(0, kLengthBytes));
  if (length > kMostBytes) throw notAMessage();
  if (bytes.size() < kLengthBytes + length) return std::nullopt;
  ControlMessage message = decode(std::string_view(bytes).substr(kLengthBytes, length));
  bytes.erase(0, kLengthBytes + length);
  return message;
}

}  // namespace pipetrace
