#pragma once

namespace pipetrace {

/// The t below which Student's distribution with that many degrees of freedom has the share 1 −
/// `tail`; 0 < tail < 1/2, 0.5 <= degrees, which need not be whole. It inverts the distribution
/// function by bisection. That is the continued fraction of the incomplete beta function (Press et
/// al., "Numerical Recipes", 3rd edition, 6.4 and 6.14.3).
double studentT(double tail, double degrees);

}  // namespace pipetrace
