#include "parser/sqlite/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// The number of steps of its machine that SQLite may take for each byte of a database that is
/// read. A row of a few bytes takes about twenty steps, and every row is read a few times.
constexpr std::int64_t kStepsPerByte = 100;
constexpr std::int64_t kStepsAtLeast = 10'000'000;
constexpr int kStepsBetweenChecks = 10'000;

/// No profile holds a larger value.
constexpr int kLongestValue = 1 << 28;

int onProgress(void* stepsLeft) {
  auto& left = *static_cast<std::int64_t*>(stepsLeft);
  left -= kStepsBetweenChecks;
  return left < 0 ? 1 : 0;
}

[[noreturn]] void fail(sqlite3* database, const std::string& what) {
  throw Error("cannot " + what + ": SQLite says: " + sqlite3_errmsg(database) +
              "; is there room in the folder for temporary files (TMPDIR)?");
}

}  // namespace

SqliteStatement::SqliteStatement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (result != SQLITE_OK) fail(database, "prepare a statement");
}

void SqliteStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
}

void SqliteStatement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter + 1, value);
}

void SqliteStatement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter + 1, text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void SqliteStatement::bindNull(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter + 1);
}

void SqliteStatement::run() {
  int result = SQLITE_ROW;
  while (result == SQLITE_ROW) result = sqlite3_step(statement_.get());
  if (result != SQLITE_DONE) fail(sqlite3_db_handle(statement_.get()), "write a database");
  sqlite3_reset(statement_.get());
}

bool SqliteStatement::next() {
  const int result = sqlite3_step(statement_.get());
  failed_ = result != SQLITE_ROW && result != SQLITE_DONE;
  return result == SQLITE_ROW;
}

void SqliteStatement::reset() { sqlite3_reset(statement_.get()); }

bool SqliteStatement::isNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

bool SqliteStatement::isInteger(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}

bool SqliteStatement::isText(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqliteStatement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqliteStatement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

SqliteDatabase::SqliteDatabase(SqliteDatabase&& other) noexcept
    : database_(std::move(other.database_)),
      stepsLeft_(std::move(other.stepsLeft_)),
      file_(std::exchange(other.file_, -1)) {}

SqliteDatabase::~SqliteDatabase() {
  if (file_ >= 0) ::close(file_);
}

SqliteDatabase SqliteDatabase::temporary() {
  SqliteDatabase result;
  std::error_code ignored;
  const auto folder = std::filesystem::temp_directory_path(ignored);
  std::string path = ((ignored ? "/tmp" : folder) / "pipetrace-XXXXXX").string();
  result.file_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (result.file_ < 0) {
    throw Error("cannot create a temporary file in " + folder.string() + ": " +
                std::strerror(errno) + "; set TMPDIR to a folder that you may write to");
  }
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  result.database_.reset(database);
  // From here on, no file is left, whatever ends the program.
  ::unlink(path.c_str());
  if (opened != SQLITE_OK) fail(database, "create a temporary database");
  result.run("PRAGMA journal_mode = OFF");
  result.run("PRAGMA synchronous = OFF");
  result.run("PRAGMA locking_mode = EXCLUSIVE");
  return result;
}

std::optional<SqliteDatabase> SqliteDatabase::fromBytes(std::string_view bytes) {
  SqliteDatabase result;
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
  result.database_.reset(database);
  if (opened != SQLITE_OK) fail(database, "open a database in memory");
  auto* copy =
      static_cast<unsigned char*>(sqlite3_malloc64(std::max<std::size_t>(bytes.size(), 1)));
  if (copy == nullptr) throw Error("not enough memory for a database of that size");
  std::copy(bytes.begin(), bytes.end(), copy);
  // A database in write-ahead mode looks for its log, which one in memory cannot have.
  constexpr std::size_t kWriteVersion = 18;
  constexpr std::size_t kReadVersion = 19;
  if (bytes.size() > kReadVersion) copy[kWriteVersion] = copy[kReadVersion] = 1;
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(database, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    return std::nullopt;
  }
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  result.stepsLeft_ = std::make_unique<std::int64_t>(kStepsAtLeast + kStepsPerByte * size);
  sqlite3_progress_handler(database, kStepsBetweenChecks, onProgress, result.stepsLeft_.get());
  try {
    SqliteStatement schema = result.prepare("SELECT count(*) FROM sqlite_schema");
    if (!schema.next()) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  return result;
}

bool SqliteDatabase::hasTable(std::string_view table) const {
  // Views and virtual tables are refused: those run code of the file's author.
  SqliteStatement found = prepare(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE "
      "AND sql LIKE 'CREATE TABLE%'");
  found.bind(0, table);
  return found.next();
}

bool SqliteDatabase::hasColumns(std::string_view table,
                                std::initializer_list<std::string_view> columns) const {
  if (!hasTable(table)) return false;
  SqliteStatement found =
      prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE");
  found.bind(0, table);
  for (const std::string_view column : columns) {
    found.bind(1, column);
    if (!found.next()) return false;
    found.reset();
  }
  return true;
}

}  // namespace pipetrace
