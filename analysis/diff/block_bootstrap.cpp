#include "analysis/diff/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "analysis/ratio.h"

namespace pipetrace {
namespace {

/// The continued fraction of the incomplete beta function, by Lentz's method.
double betaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 1000;
  const auto away = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const double factor = d * c;
    fraction *= factor;
    if (std::abs(factor - 1) < 1e-12) break;
  }
  return fraction;
}

double incompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  const bool isLow = x < (a + 1) / (a + b + 2);
  return isLow ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
}

/// The share of the distribution above t >= 0.
double tailAbove(double t, double degrees) {
  return 0.5 * incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

constexpr double kTail = 0.025;
constexpr double kNormal = 1.959963985;  // its quantile

double sumOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double varianceOf(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = sumOf(values) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / (count - 1);
}

/// The values must be sorted.
double quantileOf(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Sums of the first n values of the list and the list again.
std::vector<double> prefixSums(const std::vector<double>& values) {
  std::vector<double> sums{0};
  sums.reserve(2 * values.size() + 1);
  for (int round = 0; round < 2; ++round) {
    for (const double value : values) sums.push_back(sums.back() + value);
  }
  return sums;
}

}  // namespace

double studentT(double tail, double degrees) {
  double low = 0;
  double high = 1;
  while (tailAbove(high, degrees) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (tailAbove(middle, degrees) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

double SeriesOfSteps::mean() const { return ratio(sumOf(sums), sumOf(weights)); }

bool ConfidenceInterval::isBeyondNoiseOf(double difference, std::size_t differences) const {
  const double tail = kTail / static_cast<double>(std::max<std::size_t>(1, differences));
  return std::abs(difference) > studentT(tail, degrees) * error;
}

BlockBootstrap::Side::Side(std::size_t count, std::uint64_t seed) : steps(count) {
  if (steps < 2) return;
  block = std::clamp<std::size_t>(steps / 4, 1, kBlock);
  blocks = (steps + block - 1) / block;
  std::mt19937_64 random(seed);  // NOLINT: the same draws every time
  begins.resize(kDraws * blocks);
  for (std::uint32_t& begin : begins) {
    begin = static_cast<std::uint32_t>(((random() >> 32) * steps) >> 32);
  }
}

std::vector<double> BlockBootstrap::Side::deviations(const SeriesOfSteps& series) const {
  const std::vector<double> sums = prefixSums(series.sums);
  const std::vector<double> weights = prefixSums(series.weights);
  const double mean = series.mean();
  const double filled = filledBlocks(series, block);
  const double widened = std::sqrt(filled / (filled - 1));
  std::vector<double> result(kDraws);
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    double weight = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t from = begins[draw * blocks + i];
      const std::size_t to = from + std::min(block, steps - i * block);
      sum += sums[to] - sums[from];
      weight += weights[to] - weights[from];
    }
    result[draw] = weight > 0 ? (sum / weight - mean) * widened : 0;
  }
  return result;
}

double BlockBootstrap::Side::filledBlocks(const SeriesOfSteps& series, std::size_t block) {
  const auto filled = std::count_if(series.weights.begin(), series.weights.end(),
                                    [](double weight) { return weight > 0; });
  return std::max(1.5, static_cast<double>(filled) / static_cast<double>(block));
}

BlockBootstrap::BlockBootstrap(std::size_t stepsOfA, std::size_t stepsOfB, bool paired)
    : a_(stepsOfA, 1), b_(stepsOfB, paired ? 1 : 2), paired_(paired) {}

std::optional<ConfidenceInterval> BlockBootstrap::of(const SeriesOfSteps& a,
                                                     const SeriesOfSteps& b) const {
  if (a_.steps < 2 || b_.steps < 2) return std::nullopt;
  std::vector<double> differences = b_.deviations(b);
  const std::vector<double> ofA = a_.deviations(a);
  const double varianceOfB = varianceOf(differences);
  const double varianceOfA = varianceOf(ofA);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= ofA[i];
  ConfidenceInterval sure;
  const double degreesOfA = Side::filledBlocks(a, a_.block) - 1;
  const double degreesOfB = Side::filledBlocks(b, b_.block) - 1;
  sure.degrees = std::min(degreesOfA, degreesOfB);
  if (!paired_ && varianceOfA + varianceOfB > 0) {  // Welch and Satterthwaite
    const double both = varianceOfA + varianceOfB;
    sure.degrees =
        both * both /
        (varianceOfA * varianceOfA / degreesOfA + varianceOfB * varianceOfB / degreesOfB);
  }
  sure.error = std::sqrt(varianceOf(differences));
  std::sort(differences.begin(), differences.end());
  const double widened = studentT(kTail, sure.degrees) / kNormal;
  const double difference = b.mean() - a.mean();
  sure.low = difference + quantileOf(differences, kTail) * widened;
  sure.high = difference + quantileOf(differences, 1 - kTail) * widened;
  return sure;
}

bool goInPairs(std::span<const double> a, std::span<const double> b) {
  constexpr double kLeast = 0.5;
  constexpr double kClear = 2.6;
  const std::size_t count = a.size();
  if (count != b.size() || count < 5) return false;
  const auto meanOf = [](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double meanOfA = meanOf(a);
  const double meanOfB = meanOf(b);
  double squaresOfA = 0;
  double squaresOfB = 0;
  double products = 0;
  for (std::size_t i = 0; i < count; ++i) {
    squaresOfA += (a[i] - meanOfA) * (a[i] - meanOfA);
    squaresOfB += (b[i] - meanOfB) * (b[i] - meanOfB);
    products += (a[i] - meanOfA) * (b[i] - meanOfB);
  }
  if (squaresOfA <= 0 || squaresOfB <= 0) return false;
  const double correlation = std::min(products / std::sqrt(squaresOfA * squaresOfB), 1 - 1e-12);
  return correlation >= kLeast &&
         std::atanh(correlation) * std::sqrt(static_cast<double>(count) - 3) > kClear;
}

}  // namespace pipetrace
