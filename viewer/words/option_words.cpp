#include "viewer/words/option_words.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <array>

namespace pipetrace {
namespace {

/// Sentences with such a word say whose their options are.
constexpr std::array kOwners = {"pipe-trace", "what-if --", "pipe-run", "PipeTrace's engine",
                                "Megatron",   "DeepSpeed",  "torch"};

/// Options of pipe-view that a run can be opened with.
constexpr std::array kOfViewer = {"--align"};

/// Whose the options in a sentence are that does not say it.
enum class OptionsOf { kSaid, kOfViewer, kOthers };

OptionsOf whoseOptions(const QString& sentence) {
  static const QRegularExpression option(QStringLiteral("--[a-z][a-z-]*"));
  const bool isSaid = std::any_of(kOwners.begin(), kOwners.end(), [&](const char* owner) {
    return sentence.contains(QLatin1String(owner));
  });
  OptionsOf whose = OptionsOf::kSaid;
  for (auto found = option.globalMatch(sentence); !isSaid && found.hasNext();) {
    const QString name = found.next().captured();
    const bool isOfViewer = std::find(kOfViewer.begin(), kOfViewer.end(), name) != kOfViewer.end();
    if (!isOfViewer) return OptionsOf::kOthers;
    whose = OptionsOf::kOfViewer;
  }
  return whose;
}

}  // namespace

QString withWhoseOptions(const QString& sentence) {
  switch (whoseOptions(sentence)) {
    case OptionsOf::kSaid: return sentence;
    case OptionsOf::kOfViewer:
      return sentence + QCoreApplication::translate(
                            "OptionWords", " (an option of pipe-view, which opens the run so)");
    case OptionsOf::kOthers: break;
  }
  return sentence +
         QCoreApplication::translate(
             "OptionWords", " (options of pipe-trace: open the profile that it writes with -o)");
}

QString withWhoseWhatIfOptions(const QString& sentence) {
  if (whoseOptions(sentence) == OptionsOf::kSaid) return sentence;
  return sentence + QCoreApplication::translate("OptionWords", " (options of pipe-trace what-if)");
}

}  // namespace pipetrace
