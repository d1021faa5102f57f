#include "viewer/compare/run_comparison.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "analysis/diff/run_diff.h"
#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"

namespace pipetrace {
namespace {

/// A run of its own with the same events, apart from idle time.
Run copyOf(const Run& run) {
  Timeline timeline(run.timeline());
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  return Run(std::move(timeline), run.threads());
}

RunDiff diffOfProfiles(const LoadedProfile& a, const LoadedProfile& b) {
  constexpr double kTolerance = DiffOptions{}.tolerance;
  const Run& one = a.run();
  const Run& other = b.run();
  const bool lackRanks = !ranksOfBoth(shapeOf(one.timeline(), one.topology()),
                                      shapeOf(other.timeline(), other.topology()))
                              .empty();
  if (!lackRanks) return diffOf(measureRun(one, {}), measureRun(other, {}), kTolerance);
  Run someOfA = copyOf(one);
  Run someOfB = copyOf(other);
  return diffOf(std::move(someOfA), std::move(someOfB), {});
}

/// The last part of the name of an input, by which the charts name it.
std::string shortName(const std::string& input) {
  const std::filesystem::path path(input);
  const std::filesystem::path last = path.has_filename() ? path : path.parent_path();
  return last.filename().empty() ? input : last.filename().string();
}

QString ofUtf8(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

ComparedRuns compareRuns(const LoadedProfile& a, const LoadedProfile& b) {
  ComparedRuns result;
  try {
    const RunDiff diff = diffOfProfiles(a, b);
    const DiffReport report{diff, shortName(a.name()), shortName(b.name())};
    result.how = diff.how;
    result.sentences = {ofUtf8(diffAnswer(diff)), "A  " + ofUtf8(diffTextOfA(report)),
                        "B  " + ofUtf8(diffTextOfB(report))};
    for (const std::string& note : diffNotes(diff)) result.sentences.push_back(ofUtf8(note));
    if (!diff.how.refusal.empty()) return result;
    for (const DiffReason& reason : reasonsOf(diff)) {
      if (reason.time == 0) continue;
      result.sentences.push_back(ofUtf8(signedTime(reason.time) + "  " + listedText(reason)));
    }
  } catch (const std::bad_alloc&) {
    result.sentences = {QObject::tr("There is not enough memory to compare the runs.")};
  } catch (const std::exception& error) {
    result.sentences = {QString::fromUtf8(error.what())};
  }
  return result;
}

RunComparison::RunComparison(QObject* parent) : QObject(parent) {
  loader_.setExplains(false);
  connect(&loader_, &ProfileLoader::loaded, this, [this](auto profile) {
    b_ = std::move(profile);
    setStage(Stage::kWaiting);
  });
  connect(&loader_, &ProfileLoader::classifying, this, &RunComparison::classifying);
  connect(&loader_, &ProfileLoader::classified, this, &RunComparison::classified);
  connect(&loader_, &ProfileLoader::explained, this, [this] {
    isReadyB_ = true;
    compareOnceReady();
  });
  connect(&loader_, &ProfileLoader::failed, this, [this](const QString& message) {
    close();
    emit failed(message);
  });
}

RunComparison::~RunComparison() {
  loader_.stop();  // then parts of B that are being made are given up
}

void RunComparison::open(const QStringList& inputs, AlignBy align) {
  close();
  loader_.load(inputs, align);
  setStage(Stage::kReading);
}

void RunComparison::close() {
  if (stage_ == Stage::kNone) return;
  loader_.stop();
  ++asked_;
  ++askedTwins_;
  twinsWork_.cancel();
  result_.reset();
  twins_.reset();
  stepOfA_.reset();
  stepOfB_.reset();
  isReadyB_ = false;
  // A large run is freed on the thread, once no chart shows it.
  std::shared_ptr<const LoadedProfile> old = std::exchange(b_, nullptr);
  setStage(Stage::kNone);
  work_.start([old = std::move(old)](const std::atomic<bool>&) mutable { old.reset(); });
}

void RunComparison::setA(std::shared_ptr<const LoadedProfile> a) {
  if (a == a_) return;
  // B may be on its way to be compared with the first A.
  if (a_) close();
  a_ = std::move(a);
  isReadyA_ = false;
}

void RunComparison::setReadyA() {
  isReadyA_ = a_ != nullptr;
  compareOnceReady();
}

void RunComparison::setStage(Stage stage) {
  if (std::exchange(stage_, stage) != stage) emit stageChanged();
}

void RunComparison::compareOnceReady() {
  if (!isReadyA_ || !isReadyB_ || stage_ != Stage::kWaiting) return;
  setStage(Stage::kComparing);
  work_.start([this, a = a_, b = b_, number = ++asked_](const std::atomic<bool>& stop) {
    auto result = std::make_shared<const ComparedRuns>(compareRuns(*a, *b));
    if (stop) return;
    QMetaObject::invokeMethod(
        this,
        [this, result, number] {
          if (number != asked_) return;
          result_ = result;
          setStage(Stage::kDone);
          findTwins();
        },
        Qt::QueuedConnection);
  });
}

void RunComparison::setSteps(const StepSpan& a, const StepSpan& b) {
  const auto isSame = [](const std::optional<StepSpan>& old, const StepSpan& step) {
    return old && old->step == step.step && old->begin == step.begin;
  };
  if (isSame(stepOfA_, a) && isSame(stepOfB_, b)) return;
  stepOfA_ = a;
  stepOfB_ = b;
  twins_.reset();
  emit twinsChanged();
  findTwins();
}

void RunComparison::findTwins() {
  const std::uint64_t number = ++askedTwins_;
  if (!result_ || !result_->how || !stepOfA_ || !stepOfB_) return twinsWork_.cancel();
  twinsWork_.start([this, a = a_, b = b_, result = result_, stepOfA = *stepOfA_,
                    stepOfB = *stepOfB_, number](const std::atomic<bool>& stop) {
    try {
      auto twins = std::make_shared<const JobTwins>(
          StepOfRun{a->model(), a->run().topology(), stepOfA},
          StepOfRun{b->model(), b->run().topology(), stepOfB}, *result->how, stop);
      if (stop) return;
      QMetaObject::invokeMethod(
          this,
          [this, twins, number] {
            if (number != askedTwins_) return;
            twins_ = twins;
            emit twinsChanged();
          },
          Qt::QueuedConnection);
    } catch (const std::exception&) {
      // No memory for them: jobs have no tints.
    }
  });
}

}  // namespace pipetrace
