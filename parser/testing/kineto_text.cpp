#include "parser/testing/kineto_text.h"

namespace pipetrace::test {
namespace {

std::string span(const char* category, const std::string& name, int pid, int tid,
                 std::int64_t begin, std::int64_t length, const std::string& arguments) {
  return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name + R"(","pid":)" +
         std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
         ",\"ts\":" + std::to_string(begin) + ",\"dur\":" + std::to_string(length) + ",\"args\":{" +
         arguments + "}}";
}

constexpr int kProcess = 99;

}  // namespace

KinetoText& KinetoText::add(const std::string& event) {
  if (!events_.empty()) events_ += ",\n";
  events_ += event;
  return *this;
}

KinetoText& KinetoText::rank(int rank, int size, const std::string& groups,
                             const std::string& backend) {
  head_ = R"("distributedInfo": {"backend": ")" + backend + R"(", "rank": )" +
          std::to_string(rank) + ", \"world_size\": " + std::to_string(size) +
          (groups.empty() ? "" : ", \"pg_config\": [" + groups + "]") + "},\n";
  return *this;
}

KinetoText& KinetoText::annotation(const std::string& name, Host at) {
  return add(span("user_annotation", name, kProcess, at.thread, at.begin, at.length,
                  "\"External id\":" + std::to_string(++id_)));
}

KinetoText& KinetoText::openAnnotation(const std::string& name, Host at) {
  return add(R"({"ph":"B","cat":"user_annotation","name":")" + name + R"(","pid":99,"tid":)" +
             std::to_string(at.thread) + ",\"ts\":" + std::to_string(at.begin) + "}");
}

KinetoText& KinetoText::operation(const std::string& name, Host at, const std::string& arguments) {
  return add(span("cpu_op", name, kProcess, at.thread, at.begin, at.length,
                  "\"External id\":" + std::to_string(++id_) + arguments));
}

KinetoText& KinetoText::message(const char* operation, const char* name, const Message& at) {
  this->operation(operation, {.begin = at.posted, .length = 4});
  return annotation(at.backend + name, {.begin = at.posted + 3, .length = at.end - at.posted - 3});
}

KinetoText& KinetoText::receive(const Message& at) { return message("c10d::recv_", ":recv", at); }

KinetoText& KinetoText::send(const Message& at) { return message("c10d::send", ":send", at); }

KinetoText& KinetoText::launch(std::int64_t correlation, Host at, const std::string& name,
                               const char* category) {
  return add(span(category, name, kProcess, at.thread, at.begin, at.length,
                  "\"cbid\":211,\"correlation\":" + std::to_string(correlation)));
}

KinetoText& KinetoText::work(const char* category, const std::string& name,
                             std::int64_t correlation, Work at, const std::string& arguments) {
  return add(span(category, name, at.device, at.stream, at.begin, at.length,
                  "\"device\":" + std::to_string(at.device) +
                      ",\"stream\":" + std::to_string(at.stream) +
                      ",\"correlation\":" + std::to_string(correlation) + arguments));
}

KinetoText& KinetoText::kernel(std::int64_t correlation, Work at, const std::string& name,
                               const std::string& arguments) {
  return work("kernel", name, correlation, at, arguments);
}

KinetoText& KinetoText::copy(std::int64_t correlation, Work at) {
  return work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", correlation, at);
}

KinetoText& KinetoText::image(const std::string& name, std::int64_t externalId, Work at) {
  return add(span("gpu_user_annotation", name, at.device, at.stream, at.begin, at.length,
                  "\"External id\":" + std::to_string(externalId)));
}

KinetoText& KinetoText::forwardArrow(int id, Host from, Host to) {
  const auto end = [&](const char* phase, const Host& at, const char* more) {
    add(R"({"ph":")" + std::string(phase) + R"(","id":)" + std::to_string(id) +
        R"(,"pid":99,"tid":)" + std::to_string(at.thread) + ",\"ts\":" + std::to_string(at.begin) +
        R"(,"cat":"fwdbwd","name":"fwdbwd")" + more + "}");
  };
  end("s", from, "");
  end("f", to, R"(,"bp":"e")");
  return *this;
}

std::string KinetoText::text() const {
  return "{\"schemaVersion\":1,\n" + head_ + "\"traceEvents\":[\n" + events_ +
         "\n],\"baseTimeNanoseconds\": 1700000000000000000}";
}

}  // namespace pipetrace::test
