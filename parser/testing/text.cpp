#include "parser/testing/timelines.h"

#include <optional>
#include <sstream>

#include "trace/log/log_writer.h"
#include "trace/log/rank_info_fields.h"

namespace pipetrace::test {
namespace {

template <typename Value>
void describe(std::ostream& out, const Value& value) {
  out << value;
}

void describe(std::ostream& out, const std::string& value) { out << "'" << value << "'"; }

template <typename Value>
void describe(std::ostream& out, const std::optional<Value>& value) {
  if (value) {
    out << *value;
  } else {
    out << "-";
  }
}

void describe(std::ostream& out, const std::vector<ClockReading>& readings) {
  for (const ClockReading& c : readings) out << c.when << " " << c.offset << " " << c.bound << ";";
}

void describe(std::ostream& out, const std::vector<Nanoseconds>& times) {
  for (const Nanoseconds time : times) out << " " << time;
}

void describe(std::ostream&, const std::vector<CommunicationGroup>&) {}  // no file keeps them

void describe(std::ostream& out, const RankInfo& info) {
  visitRankFields([&]<typename Field>(Field, auto member) {
    if (Field::kPlace == RankFieldPlace::kFound) return;
    out << " " << Field::kKey << " ";
    describe(out, info.*member);
  });
  out << "\n";
}

void describe(std::ostream& out, const Timeline& t, const Event& e) {
  out << "  " << e.begin << " " << e.end << " " << logName(e.kind) << " '" << t.strings[e.name]
      << "' job " << e.job << " step " << e.step << " mb " << e.microBatch << " stage " << e.stage
      << " peer " << e.peer << " number " << e.number << " chunk " << e.chunk << " part " << e.part
      << " class '" << bubbleClassName(e.bubbleClass) << "' phase '" << logName(e.phase) << "'";
  for (const Argument& a : t.argumentsOf(e)) {
    out << " [" << t.strings[a.key] << "]=";
    switch (a.type) {
      case ArgumentType::kInteger: out << "i" << a.integer; break;
      case ArgumentType::kReal: out << "r" << a.real; break;
      case ArgumentType::kText: out << "t'" << t.strings[a.text] << "'"; break;
    }
  }
  out << "\n";
}

StreamLine streamLineOf(const Timeline& t, const Track& track, const Event& e) {
  StreamLine line;
  line.type = logName(e.kind);
  line.microBatch = e.microBatch;
  line.begin = e.begin;
  line.end = e.end;
  line.stream = track.lane;
  line.peer = e.peer;
  line.job = e.job;
  line.step = e.step;
  line.stage = e.stage;
  line.chunk = e.chunk;
  for (const Argument& a : t.argumentsOf(e)) line.bytes = a.integer;
  return line;
}

JobLine jobLineOf(const Timeline& t, const Event& e) {
  JobLine line;
  line.type = logName(e.kind);
  line.number = e.number;
  line.microBatch = e.microBatch;
  line.begin = e.begin;
  line.end = e.end;
  line.id = e.job;
  line.step = e.step;
  line.stage = e.stage;
  line.chunk = e.chunk;
  line.stream = kComputeLane;
  for (const Argument& a : t.argumentsOf(e)) line.action = t.strings[a.text];
  return line;
}

}  // namespace

std::string describe(const Timeline& timeline) {
  std::ostringstream out;
  out.precision(17);
  for (const auto& [rank, info] : timeline.ranks) {
    out << rank << ":";
    describe(out, info);
  }
  for (const Track& track : timeline.tracks) {
    out << "track " << track.rank << " '" << track.lane << "'\n";
    for (const Event& event : track.events) describe(out, timeline, event);
  }
  for (const CounterSeries& series : timeline.counters) {
    out << "counter " << series.rank << " '" << series.name << "' '" << series.unit << "'";
    for (const CounterSample& s : series.samples) out << " " << s.time << "=" << s.value;
    out << "\n";
  }
  return out.str();
}

std::string logOf(const Timeline& timeline, int rank) {
  LogWriter writer(4711);
  writer.setNow(kEpoch);
  std::string log = "starting up\n";
  const RankInfo& info = timeline.ranks.at(rank);
  writer.appendMeta(log, info);
  for (const ClockReading& reading : info.clockReadings) writer.append(log, reading);
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (track.lane == kComputeLane) {
        writer.append(log, jobLineOf(timeline, event));
      } else {
        writer.append(log, streamLineOf(timeline, track, event));
      }
    }
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) {
      if (series.rank != rank) continue;
      writer.append(log, CounterLine{series.name, sample.time, sample.value, series.unit});
    }
  }
  if (info.hasEnd) writer.appendEnd(log, info);
  return log + "bye\n";
}

}  // namespace pipetrace::test
