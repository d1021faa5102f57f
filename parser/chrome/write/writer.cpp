#include "parser/chrome/write/writer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "parser/chrome/format.h"
#include "parser/chrome/write/event_text.h"
#include "parser/json/json_string.h"
#include "parser/json/text_buffer.h"
#include "parser/profile/arrow.h"
#include "parser/profile/common_format.h"
#include "parser/profile/profile_metadata.h"
#include "parser/profile/viewer_rows.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

/// The number of elements that are put together before they are written: their text fits a core's
/// cache.
constexpr std::size_t kElementsPerBlock = 2048;

/// Every rank of which anything is known.
std::set<int> ranksOf(const Timeline& timeline) {
  std::set<int> ranks;
  for (const auto& [rank, info] : timeline.ranks) ranks.insert(rank);
  for (const Track& track : timeline.tracks) ranks.insert(track.rank);
  for (const CounterSeries& series : timeline.counters) ranks.insert(series.rank);
  return ranks;
}

/// Appends the elements about the rows of the viewer, each after a newline.
void addNames(const Timeline& timeline, const ViewerRows& rows, TextBuffer& out) {
  const auto add = [&](std::string_view what, std::int64_t pid, std::int64_t tid,
                       const std::string& arguments) {
    out.add(out.size() == 0 ? "\n" : ",\n");
    addChromeName(out, what, pid, tid, arguments);
  };
  for (const int rank : ranksOf(timeline)) {
    const std::int64_t pid = ViewerRows::pidOf(rank);
    add("process_name", pid, -1, chromeField("name", "rank " + std::to_string(rank)));
    add("process_sort_index", pid, -1, chromeSortIndex(rank));
    const auto info = timeline.ranks.find(rank);
    if (info == timeline.ranks.end()) continue;
    std::string label = info->second.host;
    if (!label.empty() && !info->second.device.empty()) label += " ";
    label += info->second.device;
    if (!label.empty()) add("process_labels", pid, -1, chromeField("labels", label));
  }
  for (const ViewerRow& row : rows.all()) {
    add("thread_name", row.pid, row.tid,
        chromeField("name", row.name) + "," + chromeField(chrome_format::kLane, row.lane));
    add("thread_sort_index", row.pid, row.tid, chromeSortIndex(row.sortIndex));
  }
}

/// Writes elements as text on several threads, and the texts to the file in order. Each element
/// comes after another one, since those of addNames() are first.
class ElementWriter {
 public:
  ElementWriter(OutputFile& out, int threads) : out_(out), threads_(threads) {}

  /// `add` appends the element with a given number, below `count`.
  template <typename Add>
  void write(std::size_t count, const Add& add) const {
    const std::size_t blocks = (count + kElementsPerBlock - 1) / kElementsPerBlock;
    std::atomic<std::size_t> next{0};
    const auto threads = static_cast<int>(std::min<std::size_t>(threads_, blocks));
    Turns::run(threads, [&](Turns& turns) {
      TextBuffer text;
      for (std::size_t block = 0; (block = next++) < blocks;) {
        text.clear();
        const std::size_t end = std::min(count, (block + 1) * kElementsPerBlock);
        for (std::size_t i = block * kElementsPerBlock; i < end; ++i) {
          text.add(",\n");
          add(text, i);
        }
        if (!turns.await(static_cast<std::int64_t>(block))) return;
        out_.write(text.text());
        turns.finish();
      }
    });
  }

 private:
  OutputFile& out_;
  std::size_t threads_;
};

/// Finds the arrows at the same time, if there is more than one thread.
std::future<std::vector<Arrow>> arrowsOf(const Timeline& timeline, const ChromeOptions& options) {
  const auto find = [&timeline, wanted = options.flows] {
    return wanted ? findArrows(timeline) : std::vector<Arrow>();
  };
  // With both policies, the arrows are found on demand where no thread can be started.
  const auto both = std::launch::async | std::launch::deferred;
  return std::async(threadCount(options.threads) > 1 ? both : std::launch::deferred, find);
}

/// Writes the arrows after all slices, so that each end finds its slice even where both have the
/// same time.
std::int64_t writeArrows(const Timeline& timeline, const std::vector<Arrow>& arrows,
                         const ViewerRows& rows, const ChromeEventText& text,
                         const ElementWriter& elements) {
  const auto slice = [&](Arrow::Slice s) -> ChromeEventText::Slice {
    return {timeline.tracks[s.track].events[s.event], rows.row(s.track, s.event)};
  };
  elements.write(arrows.size(), [&](TextBuffer& out, std::size_t i) {
    text.addArrow(out, static_cast<std::int64_t>(i) + 1, slice(arrows[i].from),
                  slice(arrows[i].to));
  });
  return static_cast<std::int64_t>(arrows.size());
}

/// With `absoluteTime`, the start of the day (UTC). Times since the epoch itself are too large for
/// the viewers, which keep microseconds as a double.
Nanoseconds originOf(const Timeline& timeline, bool absoluteTime, int threads) {
  if (!absoluteTime) return profileOrigin(timeline, false, threads);
  constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
  profileOrigin(timeline, true, threads);  // refuses what comes before the epoch
  const Nanoseconds begin = timeline.span(threads).begin;
  return begin - begin % kDay;
}

ProfileSummary countEvents(const Timeline& timeline, int threads) {
  std::vector<ProfileSummary> ofTracks(timeline.tracks.size());
  inParallel(threads, ofTracks.size(), [&](std::size_t t) {
    ProfileSummary sum;
    for (const Event& event : timeline.tracks[t].events) sum.add(timeline.tracks[t], event);
    ofTracks[t] = sum;
  });
  ProfileSummary summary;
  for (const ProfileSummary& each : ofTracks) summary.add(each);
  return summary;
}

}  // namespace

ProfileSummary writeChromeJson(const Timeline& timeline, const ChromeOptions& options,
                               OutputFile& out) {
  const Nanoseconds origin = originOf(timeline, options.absoluteTime, options.threads);
  auto arrows = arrowsOf(timeline, options);
  const ViewerRows rows(timeline, options.threads);
  ProfileSummary summary = countEvents(timeline, options.threads);

  std::string head = "{\"displayTimeUnit\":\"ns\",\"";
  if (options.absoluteTime) {
    head += std::string(cf::kBaseTime) + "\":" + std::to_string(origin) + ",\"";
  }
  head += std::string(chrome_format::kOtherData) + "\":{\"" + std::string(cf::kOurs) + "\":";
  appendProfileMetadata(head, timeline, origin);
  out.write(head + "},\"" + std::string(chrome_format::kTraceEvents) + "\":[");

  TextBuffer names;
  addNames(timeline, rows, names);
  out.write(names.text());
  const ChromeEventText text(timeline, rows, origin);
  const ElementWriter elements(out, threadCount(options.threads));
  for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
    elements.write(timeline.tracks[t].events.size(),
                   [&](TextBuffer& block, std::size_t e) { text.addEvent(block, t, e); });
  }
  for (const CounterSeries& series : timeline.counters) {
    std::vector<CounterSample> finite;
    std::copy_if(series.samples.begin(), series.samples.end(), std::back_inserter(finite),
                 [](const CounterSample& sample) { return std::isfinite(sample.value); });
    summary.counters += static_cast<std::int64_t>(finite.size());
    elements.write(finite.size(), [&](TextBuffer& block, std::size_t i) {
      text.addSample(block, series, finite[i]);
    });
  }
  summary.arrows = writeArrows(timeline, arrows.get(), rows, text, elements);
  out.write("\n]}\n");
  return summary;
}

}  // namespace pipetrace
