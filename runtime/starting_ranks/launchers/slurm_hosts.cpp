#include "runtime/starting_ranks/launchers/slurm_hosts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostHosts = 65'536;

class HostListReader {
 public:
  explicit HostListReader(std::string_view list) : list_(list), rest_(list) {}

  std::vector<std::string> read() {
    std::vector<std::string> hosts;
    while (true) {
      const std::vector<std::string> more = readNames();
      hosts.insert(hosts.end(), more.begin(), more.end());
      if (hosts.size() > kMostHosts) fail("it has too many hosts");
      if (rest_.empty()) return hosts;
      rest_.remove_prefix(1);  // the comma
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("the list of hosts " + std::string(list_) + " cannot be read: " + why);
  }

  /// Up to the next comma outside of brackets.
  std::vector<std::string> readNames() {
    std::vector<std::string> names = {""};
    bool isEmpty = true;
    while (!rest_.empty() && rest_.front() != ',') {
      isEmpty = false;
      const std::vector<std::string> pieces =
          rest_.front() == '[' ? readBrackets() : std::vector<std::string>{readPlain()};
      std::vector<std::string> longer;
      if (names.size() * pieces.size() > kMostHosts) fail("it has too many hosts");
      for (const std::string& name : names) {
        for (const std::string& piece : pieces) longer.push_back(name + piece);
      }
      names = std::move(longer);
    }
    if (isEmpty) fail("a name is empty");
    return names;
  }

  std::string readPlain() {
    const std::size_t end = std::min(rest_.find_first_of("[,"), rest_.size());
    const std::string_view piece = rest_.substr(0, end);
    if (piece.find(']') != std::string_view::npos) fail("a bracket has no beginning");
    rest_.remove_prefix(end);
    return std::string(piece);
  }

  std::vector<std::string> readBrackets() {
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) fail("a bracket has no end");
    std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    std::vector<std::string> pieces;
    while (true) {
      const std::size_t comma = std::min(inside.find(','), inside.size());
      addRange(inside.substr(0, comma), pieces);
      if (comma == inside.size()) return pieces;
      inside.remove_prefix(comma + 1);
    }
  }

  std::int64_t numberIn(std::string_view digits) const {
    constexpr std::size_t kMostDigits = 9;
    std::int64_t number = -1;
    const char* const end = digits.data() + digits.size();
    const bool isNumber = digits.size() <= kMostDigits && !digits.empty() &&
                          digits.front() != '-' &&
                          std::from_chars(digits.data(), end, number).ptr == end;
    if (!isNumber) fail("a bracket has " + std::string(digits) + ", which is no number");
    return number;
  }

  /// "7", or "01-03" with as many digits each.
  void addRange(std::string_view range, std::vector<std::string>& pieces) const {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::int64_t first = numberIn(low);
    const std::int64_t last =
        dash == std::string_view::npos ? first : numberIn(range.substr(dash + 1));
    if (last < first || last - first >= static_cast<std::int64_t>(kMostHosts)) {
      fail("a bracket has " + std::string(range) + ", which is no range");
    }
    for (std::int64_t number = first; number <= last; ++number) {
      const std::string digits = std::to_string(number);
      const std::size_t zeros = low.size() > digits.size() ? low.size() - digits.size() : 0;
      pieces.push_back(std::string(zeros, '0') + digits);
    }
  }

  const std::string_view list_;
  std::string_view rest_;
};

}  // namespace

std::vector<std::string> slurmHosts(std::string_view list) { return HostListReader(list).read(); }

}  // namespace pipetrace
