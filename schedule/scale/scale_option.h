#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"
#include "trace/job_kind.h"

namespace pipetrace {

/// One `--scale`: whose times are multiplied, and by what. All commands that have the option read
/// it here.
///
/// - stage=2:1.3 multiplies all compute jobs of virtual stage 2.
/// - rank=5:0.9 multiplies all compute jobs of rank 5.
/// - link=1-2:0.5 multiplies messages between ranks 1 and 2, both ways.
/// - kind=backward:1.2 multiplies everything of that kind (scaleKinds()).
struct ScaleOption {
  enum class Of : std::uint8_t { kStage, kRank, kLink, kKind };

  Of of = Of::kStage;
  int number = 0;              ///< the stage or the rank; of a link the one rank
  int peer = 0;                ///< of a link: the other rank
  std::vector<JobKind> kinds;  ///< of a kind: those that it stands for
  std::int64_t billionths = kOne;
  std::string text;  ///< as it was typed

  static constexpr std::int64_t kOne = 1'000'000'000;  ///< a factor of 1

  double factor() const { return static_cast<double>(billionths) / kOne; }
  /// A time multiplied by the factor, rounded to the nanosecond.
  Nanoseconds scaled(Nanoseconds time) const;
  /// Whether it multiplies the times of a kind; only for Of::kKind.
  bool covers(JobKind kind) const;
};

/// Whether a factor may be 0.
enum class ZeroScale : std::uint8_t {
  kRefused,
  kOfKinds,  ///< that of a kind may: its work takes no time
};

/// Reads the text behind `--scale`. The factor is read digit by digit, in billionths. Throws Error,
/// which begins with the option and the text, for what is no such factor.
ScaleOption parseScale(const std::string& text, ZeroScale zero = ZeroScale::kRefused);

/// The words that kind= takes, for people: "backward, backward_input, …". `backward` stands for
/// whole backward passes and their halves, `transfer` for all messages, `collective` for all
/// collectives. The others are those of the job log.
std::string scaleKinds();

/// "30ms", "1.5s", "20ns", as options have times; the signed one also "-500us". Nothing for a text
/// that is none.
std::optional<Nanoseconds> parseTime(std::string_view text);
std::optional<Nanoseconds> parseSignedTime(std::string_view text);

/// The two ranks and the time of a `--link`, as "1-2=4ms". Throws Error, which names the option,
/// for a text that is none. It is not checked against any plan.
Faults::Link parseLink(const std::string& text);

/// Multiplies the times of a plan. Several factors of one time multiply. Factors of links come
/// after all other times of links in `costs`, factors of ranks after those of stages and kinds.
///
/// A rank whose stages are its own has them multiplied; of a stage on several ranks only the jobs
/// of that rank are (Faults::jobs). A link's factor is one of the time that a message takes however
/// long it is. The time of its bytes (Costs::bandwidth) stays.
///
/// Throws Error, which begins with the option and the text. It does so for stages and ranks that
/// the plan does not have, links that no message takes, and kinds that no plan has a time for.
void applyScales(std::span<const ScaleOption> scales, const Plan& plan, Costs& costs);

/// Whether any message moves between two ranks of a plan, either way.
bool exchangeMessages(const Plan& plan, int rank, int peer);

}  // namespace pipetrace
