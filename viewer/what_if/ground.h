#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "analysis/what_if/what_if.h"
#include "viewer/what_if/changes.h"
#include "viewer/what_if/predicted_run.h"

namespace pipetrace {

/// What a run lets be changed, and what cannot be predicted of it. Sentences without a full stop.
struct WhatIfFacts {
  std::vector<int> stages;                 ///< ascending
  std::vector<int> ranks;                  ///< ascending
  std::vector<WhatIfChanges::Link> links;  ///< with messages in the logs, ascending
  std::string schedule;                    ///< that the run followed, as people say it
  std::string ownSchedule;                 ///< its name for other plans; empty: none is known
  int microBatches = 0;                    ///< 0: not known
  int chunks = 0;                          ///< 0: not known
  bool meetsInside = false;  ///< ranks meet inside jobs, so what a rank does itself is scaled
  bool namesBlocks = false;  ///< the logs say how many blocks each stage had
  std::size_t stepJobs = 0;  ///< events of compute lanes in that step
  std::int32_t step = -1;    ///< that previews are of, the median one; -1: there are none
  std::string noPreview;     ///< then: why
  std::string noPlan;        ///< why nothing can be said about another plan; empty: it can
  std::string noLinks;       ///< the same about messages
  std::optional<double> modelError;  ///< WhatIfAnswer::modelError
  WhatIfFigures measured;            ///< of the run
  std::vector<double> peaks;         ///< WhatIfAnswer::peaks
  bool isInTokens = false;
  bool isWholeRun = false;
  bool isOfWall = false;
};

/// How the median step would be with changes. It stands for the run while a slider moves.
struct StepPreview {
  std::shared_ptr<const PredictedRun> run;
  WhatIfFigures before;       ///< of the step as it was, found alike
  WhatIfFigures figures;      ///< of the changed one
  std::vector<double> peaks;  ///< activations by rank; empty: not known
  bool isByModel = false;
  bool hasClasses = true;  ///< the idle time is classified, in the figures and in the run
  std::vector<std::string> assumptions;

  double change() const;
};

/// What previews of a run are made of: its median step as a network of waits, and its medians. It
/// is made once, in time proportional to the run; preview() takes time proportional to the step.
/// Holds nothing of the run. For one thread at a time.
class WhatIfGround {
 public:
  /// Throws Error once a stop is requested, and for a run without work.
  explicit WhatIfGround(const Run& run, const std::stop_token& stop = {});
  ~WhatIfGround();
  WhatIfGround(const WhatIfGround&) = delete;
  WhatIfGround& operator=(const WhatIfGround&) = delete;

  const WhatIfFacts& facts() const { return facts_; }
  /// The measured step alone; null where facts().noPreview.
  const Run* step() const;

  /// Throws Error, which begins with the option, for a change that the run cannot have, and where
  /// there is no preview.
  /// `withClasses`: without, it is sooner done, as idle time is not classified.
  StepPreview preview(const WhatIfChanges& changes, bool withClasses = true) const;

 private:
  struct Step;

  void findFacts(const Run& run);
  StepPreview ofRun(const WhatIfQuestion& question, bool withClasses) const;
  StepPreview ofPlan(const WhatIfQuestion& question, bool withClasses) const;

  WhatIfFacts facts_;
  std::unique_ptr<Step> step_;
  double pause_ = 0;
  double perStep_ = 1;
};

}  // namespace pipetrace
