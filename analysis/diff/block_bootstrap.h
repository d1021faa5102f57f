#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pipetrace {

/// The t below which Student's distribution with that many degrees of freedom has the share 1 −
/// `tail`; 0 < tail < 1/2, 0.5 <= degrees, which need not be whole. It inverts the distribution
/// function by bisection. That is the continued fraction of the incomplete beta function (Press et
/// al., "Numerical Recipes", 3rd edition, 6.4 and 6.14.3).
double studentT(double tail, double degrees);

/// A mean over the steps of a run: Σ sums / Σ weights. Both have an entry for each step.
struct SeriesOfSteps {
  std::vector<double> sums;
  std::vector<double> weights;

  /// 0 without weight.
  double mean() const;
};

/// How sure a difference of means is.
struct ConfidenceInterval {
  double low = 0;  ///< the 95 % interval
  double high = 0;
  double error = 0;    ///< standard error
  double degrees = 0;  ///< of freedom, for Student's distribution

  /// Whether 0 is outside of the interval.
  bool isBeyondNoise() const { return low > 0 || high < 0; }
  /// Whether 0 is outside of the simultaneous 95 % interval of that many differences (Bonferroni).
  bool isBeyondNoiseOf(double difference, std::size_t differences) const;
};

/// The block bootstrap: by how much means over the steps of two runs would differ between other
/// runs of the same programs. The steps of these two show it.
///
/// A step is like the steps beside it. So runs of five steps are drawn, with replacement, until
/// there are as many steps as before. Where a run has fewer than 20 steps, a quarter of them is
/// drawn at a time. A draw may begin at any step, and goes on at the first one after the last
/// (Politis and Romano, "A Circular Block-Resampling Procedure for Stationary Data", 1992).
///
/// The interval goes from the 2.5th to the 97.5th hundredth of 2000 differences. Few blocks make it
/// too narrow, so it is widened as in Hesterberg, "What Teachers Should Know about the Bootstrap",
/// 2015. Deviations of b blocks are multiplied by √(b / (b − 1)), and t quantiles take the place of
/// normal ones. The seed is fixed: the same runs give the same interval.
class BlockBootstrap {
 public:
  static constexpr std::size_t kBlock = 5;
  static constexpr std::size_t kDraws = 2000;

  /// `paired`: the steps of both runs go in pairs, so they are as many, and are drawn together.
  BlockBootstrap(std::size_t stepsOfA, std::size_t stepsOfB, bool paired);

  /// How sure b's mean − a's is. Empty: a run has one step only. Both must have as many steps as
  /// the constructor was given.
  std::optional<ConfidenceInterval> of(const SeriesOfSteps& a, const SeriesOfSteps& b) const;

 private:
  struct Side {
    std::size_t steps = 0;
    std::size_t block = 1;              // steps of a block
    std::size_t blocks = 1;             // of a draw; the last one may be cut
    std::vector<std::uint32_t> begins;  // of each block of each draw

    Side(std::size_t count, std::uint64_t seed);
    /// The deviations of each draw from the mean, for few blocks made larger.
    std::vector<double> deviations(const SeriesOfSteps& series) const;
    /// How many blocks the steps with a weight would fill; more than 1.
    static double filledBlocks(const SeriesOfSteps& series, std::size_t block);
  };

  Side a_;
  Side b_;
  bool paired_;
};

/// Whether the steps at the same places of both runs are alike. Then a comparison in pairs says
/// more. Their correlation must be 1/2 or more, and clearly not by chance (Fisher's z > 2.6).
bool goInPairs(std::span<const double> a, std::span<const double> b);

}  // namespace pipetrace
