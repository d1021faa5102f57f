#include "analysis/diff/student_t.h"

#include <cmath>

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

}  // namespace pipetrace
