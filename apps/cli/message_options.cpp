#include "apps/cli/message_options.h"

#include <charconv>
#include <optional>
#include <utility>

#include "apps/cli/command_app.h"
#include "schedule/add_transfers.h"
#include "schedule/simulate/order_messages.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMostAhead = 1'000'000;

std::optional<int> numberOf(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0 || number > kMostAhead) return {};
  return number;
}

}  // namespace

CommStreams MessageOptions::lines() const {
  if (commStreams.empty()) return CommStreams::kAsReached;
  std::string names;
  for (const CommStreamsRow& row : kCommStreams) {
    if (row.name == commStreams) return row.of;
    const bool isLast = &row == &kCommStreams.back();
    names += (names.empty() ? "" : isLast ? " or " : ", ") + std::string(row.name);
  }
  throw Error("--comm-streams " + commStreams + ": it is " + names);
}

std::string MessageOptions::linesText() const {
  const CommStreams of = lines();
  return of == CommStreams::kAsReached ? std::string() : std::string(rowOf(of).text);
}

Plan MessageOptions::change(Plan plan, const Costs& costs) const {
  if (transfers == "in-time") return withMessagesInTime(std::move(plan), costs);
  if (transfers == "torch") return withMessagesOfTorch(std::move(plan));
  if (!transfers.empty()) {
    const std::optional<int> ahead = numberOf(transfers);
    if (!ahead) {
      throw Error("--transfers " + transfers + ": it is in-time, torch, or a number from 0 to " +
                  std::to_string(kMostAhead));
    }
    return addTransfers(std::move(plan), {.ahead = *ahead});
  }
  if (lines() == CommStreams::kAsReached || plan.hasAny(isTransfer)) return plan;
  if (plan.credits > 0) return withMessagesInTime(std::move(plan), costs);  // torch has none
  return withMessagesOfTorch(std::move(plan));
}

void addMessageOptions(CommandApp& app, MessageOptions& to, const char* group) {
  app.add_option("--transfers", to.transfers,
                 "Write the sends and receives into the plan. A number: receives are posted up to "
                 "that many messages early (0: right before they are needed). in-time: in the "
                 "order of the messages' times. torch: where torch.distributed.pipelining posts "
                 "them. The last two also replace those of a file")
      ->type_name("HOW")
      ->group(group);
  app.add_option(
         "--comm-streams", to.commStreams,
         "Messages run on streams of their own, as on GPUs. With message each has its own. "
         "With rank all of a rank take turns, as in one communicator of NCCL (torch). With "
         "direction activations do and gradients do, with edge those from one rank to another "
         "(torch with communicators for each), with peer those of two ranks. A plan without sends "
         "gets --transfers torch, or in-time where "
         "it has credits")
      ->type_name("LINES")
      ->group(group);
}

}  // namespace pipetrace
