#pragma once

#include <QString>

namespace pipetrace {

/// A sentence of reports, with whose options are in it where it does not say so itself: reports are
/// of pipe-trace, which has options that the window lacks.
QString withWhoseOptions(const QString& sentence);
/// The same of a sentence about what-ifs and advice.
QString withWhoseWhatIfOptions(const QString& sentence);

}  // namespace pipetrace
