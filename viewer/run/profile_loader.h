#pragma once

#include <QObject>
#include <QStringList>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "analysis/causes/explanation.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// The work of a loader.
enum class LoadStage : std::uint8_t { kReading, kClassifying, kExplaining, kDone };

/// Reads profiles on threads of its own, and then finds their idle time and explains it. Used on
/// the GUI thread, which also gets its signals. The destructor waits for the threads.
class ProfileLoader : public QObject {
  Q_OBJECT

 public:
  struct Progress {
    LoadStage stage = LoadStage::kDone;
    std::int64_t bytesRead = 0;
    std::int64_t bytesInAll = 0;  ///< 0: not known
  };
  /// Runs of fewer events are shown only once they have their bubbles: that takes no time.
  static constexpr std::size_t kStagedFrom = 300'000;

  explicit ProfileLoader(QObject* parent = nullptr);
  ~ProfileLoader() override;

  /// Starts to read, instead of a profile that was not loaded() yet. The one that was goes on to be
  /// classified and explained until the new one is loaded().
  void load(const QStringList& inputs, AlignBy align);
  /// Gives up a profile that was not loaded() yet, without a signal.
  void cancel();
  /// The same, and no signals come any more for the one that was loaded().
  void stop();
  /// Whether a profile is being read that was not loaded() yet.
  bool isBusy() const { return next_ != nullptr; }
  Progress progress() const;
  void setStagedFrom(std::size_t events) { stagedFrom_ = events; }
  /// Whether runs that load() reads from now on are explained. Else explained() comes with null as
  /// soon as nothing of the run is changed any more.
  void setExplains(bool explains) { explains_ = explains; }

 signals:
  void loaded(std::shared_ptr<const pipetrace::LoadedProfile> profile);
  /// The loaded profile gets its bubbles: no other thread may read it until classified().
  void classifying();
  /// The profile now has its bubbles. Comes some time after loaded(), if that profile had none.
  void classified();
  /// Comes last, and not if another profile was loaded before. Refers to the profile. Null where
  /// the run cannot be explained.
  void explained(std::shared_ptr<const pipetrace::Explanation> explanation);
  /// `message` says what failed and what to try. A profile without jobs fails, too.
  void failed(QString message);

 private:
  struct Work;

  void run(const std::shared_ptr<Work>& work);
  void read(Work& work);
  bool show(const std::shared_ptr<Work>& work);
  bool addBubbles(const std::shared_ptr<Work>& work);
  void post(const std::shared_ptr<Work>& work, void (ProfileLoader::*then)(Work&));
  void takeProfile(Work& work);
  void takeBubbles(Work& work);
  void takeExplanation(Work& work);
  void takeError(Work& work);
  static void drop(std::shared_ptr<Work>& work);
  void joinEnded();

  std::shared_ptr<Work> next_;   // is being read
  std::shared_ptr<Work> shown_;  // was loaded()
  struct Runner {
    std::shared_ptr<Work> work;
    std::thread thread;
  };
  std::vector<Runner> runners_;
  std::size_t stagedFrom_ = kStagedFrom;
  bool explains_ = true;
};

}  // namespace pipetrace
