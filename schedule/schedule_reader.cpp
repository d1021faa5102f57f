#include "schedule/schedule_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "schedule/infer_placement.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Far above any plan, and low enough that stages times micro-batches cannot overflow.
constexpr int kLargestNumber = 9'999'999;
constexpr std::size_t kShownErrors = 10;

struct Letters {
  std::string_view text;
  JobKind kind;
};
constexpr std::array<Letters, 8> kLetters = {{{"SEND_F", JobKind::kSendForward},
                                              {"RECV_F", JobKind::kRecvForward},
                                              {"SEND_B", JobKind::kSendBackward},
                                              {"RECV_B", JobKind::kRecvBackward},
                                              {"F", JobKind::kForward},
                                              {"B", JobKind::kBackward},
                                              {"I", JobKind::kBackwardInput},
                                              {"W", JobKind::kBackwardWeight}}};

/// Takes what matches off the front of the rest of a cell.
class CellCursor {
 public:
  explicit CellCursor(std::string_view rest) : rest_(rest) {}

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::optional<int> takeNumber() {
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return {};
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > kLargestNumber) return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<Action> takeSingle(CellCursor& cursor) {
  const auto stage = cursor.takeNumber();
  if (!stage) return {};
  for (const Letters& letters : kLetters) {
    if (!cursor.take(letters.text)) continue;
    const auto microBatch = cursor.takeNumber();
    if (!microBatch) return {};
    return Action{letters.kind, *stage, *microBatch};
  }
  return {};
}

std::optional<Action> parseFused(CellCursor cursor) {
  const auto forward = cursor.take("(") ? takeSingle(cursor) : std::nullopt;
  const auto backward = cursor.take(";") ? takeSingle(cursor) : std::nullopt;
  if (!forward || !backward || !cursor.take(")OVERLAP_F_B") || !cursor.done()) return {};
  if (forward->kind != JobKind::kForward || backward->kind != JobKind::kBackward) return {};
  return Action{JobKind::kForwardBackward, forward->stage, forward->microBatch, backward->stage,
                backward->microBatch};
}

std::optional<Action> parseAction(std::string_view cell) {
  CellCursor cursor(cell);
  if (cell.front() == '(') return parseFused(cursor);
  const auto action = takeSingle(cursor);
  return cursor.done() ? action : std::nullopt;
}

/// "0REDUCE_GRAD", "3UNSHARD", "3RESHARD": with a stage, and with or without a micro-batch.
bool isLeftOut(std::string_view cell) {
  CellCursor cursor(cell);
  if (!cursor.takeNumber()) return false;
  if (!cursor.take("REDUCE_GRAD") && !cursor.take("UNSHARD") && !cursor.take("RESHARD")) {
    return false;
  }
  cursor.takeNumber();
  return cursor.done();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The cell as an error message shows it: short, and without bytes that upset a terminal.
std::string shown(std::string_view cell) {
  constexpr std::size_t kLongest = 40;
  std::string text(cell.substr(0, kLongest));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c == 0x7f; }, '?');
  return "\"" + text + (cell.size() > kLongest ? "…" : "") + "\"";
}

class Reading {
 public:
  Reading(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Schedule run() {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    for (std::size_t line = 1; !text_.empty(); ++line) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      readRow(text_.substr(0, end), line);
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (actionCount_ == 0 && errorCount_ == 0) {
      throw Error(name_ + ": no actions; a schedule file has one row a rank with cells as 0F0,0B0");
    }
    if (errorCount_ > kShownErrors) {
      errors_ += "\nand " + std::to_string(errorCount_ - kShownErrors) + " more";
    }
    if (errorCount_ > 0) throw Error(errors_);
    schedule_.name = name_;
    inferPlacement(schedule_);
    return std::move(schedule_);
  }

 private:
  void readRow(std::string_view row, std::size_t line) {
    // Empty lines may end a file, but a row in between is a rank.
    if (trimmed(row).empty()) {
      if (emptyLine_ == 0) emptyLine_ = line;
      return;
    }
    if (emptyLine_ != 0) fail(std::exchange(emptyLine_, 0), 1, "a rank without actions");
    schedule_.ranks.emplace_back();
    for (std::size_t begin = 0; begin <= row.size();) {
      const std::size_t end = std::min(row.find(',', begin), row.size());
      readCell(row.substr(begin, end - begin), line, begin + 1);
      begin = end + 1;
    }
    if (schedule_.ranks.back().empty() && errorCount_ == 0) {
      fail(line, 1, "a rank without actions");
    }
  }

  void readCell(std::string_view raw, std::size_t line, std::size_t column) {
    const std::string_view cell = trimmed(raw);
    if (cell.empty() || isLeftOut(cell)) return;
    const auto action = parseAction(cell);
    if (!action) {
      column += static_cast<std::size_t>(cell.data() - raw.data());
      fail(line, column,
           shown(cell) +
               " is no action; cells look like 0F3 and 0B3 (0I3 and 0W3 are simulated only)");
      return;
    }
    ++actionCount_;
    schedule_.numStages =
        std::max({schedule_.numStages, action->stage + 1, action->backwardStage + 1});
    schedule_.numMicroBatches = std::max(
        {schedule_.numMicroBatches, action->microBatch + 1, action->backwardMicroBatch + 1});
    schedule_.ranks.back().push_back(*action);
  }

  void fail(std::size_t line, std::size_t column, const std::string& message) {
    if (++errorCount_ > kShownErrors) return;
    if (!errors_.empty()) errors_ += '\n';
    errors_ += name_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
  }

  std::string_view text_;
  const std::string& name_;
  Schedule schedule_;
  std::size_t actionCount_ = 0;
  std::size_t emptyLine_ = 0;  // the first of those passed over; 0: none
  std::size_t errorCount_ = 0;
  std::string errors_;
};

}  // namespace

Schedule readSchedule(std::string_view text, const std::string& name) {
  return Reading(text, name).run();
}

}  // namespace pipetrace
